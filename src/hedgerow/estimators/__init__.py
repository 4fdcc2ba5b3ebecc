"""What all estimators share: contract, preparing a fit, checks of parameters, model files. It names no model."""
