"""Numbers into bins, all columns of a corpus in one call."""

from hedgerow.jit import kernel


@kernel
def bin_numbers(numeric, lines, columns, ends, end_ptr, fill, missing, inside, place, bins):
    """bins[columns[d], place[i]] = how many of the ends of the column are less than x = numeric[lines[d], inside[i]];
    fill[d] where x is NaN, and the bin missing[d] where that is NaN too.

    IN   numeric float64[·, P], lines, columns int64[D], ends float64[·]: rising, those of column d from end_ptr[d] to
         end_ptr[d+1]; fill float64[D], missing int64[D], inside, place int64[n]
    OUT  bins uint8[·, P']
    """
    for d in range(len(lines)):
        row, out = numeric[lines[d]], bins[columns[d]]
        for i in range(len(inside)):
            x = row[inside[i]]
            x = fill[d] if x != x else x
            if x != x:
                out[place[i]] = missing[d]
                continue
            low, high = end_ptr[d], end_ptr[d + 1]
            while low < high:
                middle = (low + high) // 2
                if ends[middle] < x:
                    low = middle + 1
                else:
                    high = middle
            out[place[i]] = low - end_ptr[d]
