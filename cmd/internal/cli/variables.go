package cli

// Prefixes of the environment variables of each program. They differ because both
// programs have flags such as --out, and a variable for one must not affect the other.
const (
	PrepareData = "PRETEXT_"
	TrainBERT   = "PRETEXT_BERT_"
)

// TestVariables returns the names, without the prefix [PrepareData], of variables that
// tests read. They are not settings.
func TestVariables() []string {
	return []string{"BUILDS", "COMPARED", "COPIES", "DAMAGE", "DATA", "DISKS", "HOSTILE", "KILLS", "LEARNING", "LONG_TESTS", "POWER_FAILURES", "SEED", "SERVERS", "SIGNALS", "TORTURE", "WORKS"}
}

// SharedFlags returns the flags that both programs have, spelled as in environment
// variables. A variable with such a name and the prefix [PrepareData] is meant for
// prepare-data.
func SharedFlags() []string {
	return []string{"CONFIG", "DO_LOWER_CASE", "DO_WHOLE_WORD_MASK", "JSON", "JSONL", "MASKED_LM_PROB", "MASK_TOKEN_PROB", "MAX_PREDICTIONS_PER_SEQ",
		"MAX_SEQ_LENGTH", "MODEL", "OUT", "OVERWRITE", "PRESET", "QUIET", "RANDOM_TOKEN_PROB", "TEXT", "TIMEOUT", "VOCAB", "VOCAB_SIZE"}
}
