package pipeline

import (
	"pretext/pipeline/stage"
)

// Names of the engine that callers of the stages need.
type (
	Runner       = stage.Runner
	Meter        = stage.Meter
	ConfigError  = stage.ConfigError
	OptionsError = stage.OptionsError
	MemoryError  = stage.MemoryError
)
