/* MALLET's own feature induction, for a row beside ours (docs/published.md). Not part of the package, and run by hand.

   MALLET 2.0.8 (the tag v2.0.8 of github.com/mimno/Mallet, which has the jars it needs in lib/), MALLET its folder:
     javac -encoding UTF-8 -cp "MALLET/lib/*" -sourcepath MALLET/src -d out reproduction/java/Induction.java
     java -cp "out:MALLET/lib/*" Induction TRAIN TEST VARIANCE ROUNDS [LABELS]

   TRAIN and TEST have a line for each position, its features and then its label, by blanks; an empty line ends a sequence.
   After each iteration it prints: the iteration, test labels right (%) by posterior decoding and by Viterbi, the number of weights,
   CPU seconds. LABELS.n gets the labels of iteration n. */

import cc.mallet.fst.*;
import cc.mallet.pipe.*;
import cc.mallet.types.*;
import java.io.*;
import java.lang.management.ManagementFactory;
import java.util.*;
import java.util.logging.LogManager;

public class Induction {
    // What its author recommended to the authors of the documents: 500 features every 8 iterations, on parts of the data at first.
    static final int EVERY = 8, FEATURES = 500;
    static final double THRESHOLD = 0.95;
    static final double[] PROPORTIONS = {0.2, 0.5, 0.8};

    public static void main(String[] args) throws IOException {
        Alphabet features = new Alphabet();
        LabelAlphabet labels = new LabelAlphabet();
        Pipe pipe = new Noop(features, labels);
        InstanceList train = read(args[0], pipe, features, labels), test = read(args[1], pipe, features, labels);
        CRF crf = new CRF(features, labels);
        crf.addFullyConnectedStatesForLabels(); // weights of pairs of labels
        features.startGrowth(); // the line above ended it, and then there would be no conjunctions
        CRFTrainerByLabelLikelihood trainer = new CRFTrainerByLabelLikelihood(crf) {
            @Override
            public boolean train(InstanceList list, int iterations) {
                crf.weightsStructureChanged(); // else features that a round found get no weights in this version
                return super.train(list, iterations);
            }
        };
        trainer.setGaussianPriorVariance(Double.parseDouble(args[2]));
        trainer.addEvaluator(new Scores(crf, test, labels, args.length > 4 ? args[4] : null));
        int rounds = Integer.parseInt(args[3]);
        LogManager.getLogManager().reset();
        trainer.trainWithFeatureInduction(
            train, null, test, null, EVERY * (rounds + 1), EVERY, rounds, FEATURES, THRESHOLD, false, PROPORTIONS, "exp");
    }

    static InstanceList read(String file, Pipe pipe, Alphabet features, LabelAlphabet labels) throws IOException {
        InstanceList found = new InstanceList(pipe);
        try (Scanner text = new Scanner(new File(file), "UTF-8").useDelimiter("\\n\\s*\\n")) {
            while (text.hasNext()) {
                String[] lines = text.next().trim().split("\n");
                FeatureVector[] rows = new FeatureVector[lines.length];
                int[] truth = new int[lines.length];
                for (int t = 0; t < lines.length; t++) {
                    String[] fields = lines[t].trim().split(" ");
                    AugmentableFeatureVector row = new AugmentableFeatureVector(features, true);
                    for (int i = 0; i < fields.length - 1; i++) row.add(features.lookupIndex(fields[i], true), 1.0);
                    rows[t] = row;
                    truth[t] = labels.lookupIndex(fields[fields.length - 1], true);
                }
                found.add(new Instance(new FeatureVectorSequence(rows), new LabelSequence(labels, truth), null, null));
            }
        }
        return found;
    }
}

class Scores extends TransducerEvaluator {
    private final CRF crf;
    private final LabelAlphabet labels;
    private final String out;

    Scores(CRF crf, InstanceList test, LabelAlphabet labels, String out) {
        super(new InstanceList[] {test}, new String[] {"test"});
        this.crf = crf;
        this.labels = labels;
        this.out = out;
    }

    @Override
    protected void preamble(TransducerTrainer trainer) {}

    @Override
    public void evaluateInstanceList(TransducerTrainer trainer, InstanceList test, String name) {
        int posterior = 0, viterbi = 0, all = 0, weights = 0;
        StringBuilder said = new StringBuilder();
        for (Instance one : test) {
            Sequence x = (Sequence) one.getData(), best = crf.transduce(x);
            LabelSequence truth = (LabelSequence) one.getTarget();
            SumLattice lattice = new SumLatticeDefault(crf, x, null, null, labels);
            for (int t = 0; t < truth.size(); t++, all++) {
                int label = lattice.getLabelingAtPosition(t).getBestIndex();
                said.append(labels.lookupObject(label)).append(' ');
                if (label == truth.getIndexAtPosition(t)) posterior++;
                if (best.get(t).toString().equals(truth.get(t).toString())) viterbi++;
            }
            said.append('\n');
        }
        for (SparseVector own : crf.getWeights()) weights += own.numLocations();
        double seconds = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() / 1e9;
        System.out.printf(Locale.ROOT, "%d %.2f %.2f %d %.1f%n", trainer.getIteration(), 100.0 * posterior / all, 100.0 * viterbi / all, weights, seconds);
        if (out == null) return;
        try (PrintWriter file = new PrintWriter(out + "." + trainer.getIteration(), "UTF-8")) {
            file.print(said);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
