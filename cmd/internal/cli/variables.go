package cli

// Prefixes of the variables of each program. Those of train-bert have one of
// their own: both have an --out, and what one exports for the other must not move
// it.
const (
	PrepareData = "PRETEXT_"
	TrainBERT   = "PRETEXT_BERT_"
)

// TestVariables are what follows [PrepareData] in the variables that the tests of
// the module read, which are no settings.
func TestVariables() []string {
	return []string{"COMPARED", "COPIES", "DAMAGE", "DATA", "DISKS", "HOSTILE", "KILLS", "LEARNING", "LONG_TESTS", "SEED", "SERVERS", "SIGNALS", "TORTURE"}
}

// SharedFlags are the names of flags, as variables have them, that both programs
// have. Below [PrepareData] they are meant for prepare-data.
func SharedFlags() []string {
	return []string{"CONFIG", "DO_LOWER_CASE", "DO_WHOLE_WORD_MASK", "JSON", "JSONL", "MASKED_LM_PROB", "MAX_PREDICTIONS_PER_SEQ",
		"MAX_SEQ_LENGTH", "OUT", "QUIET", "TEXT", "TIMEOUT", "VOCAB", "VOCAB_SIZE"}
}
