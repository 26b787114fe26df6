# completion
