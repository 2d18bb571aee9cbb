// Package checkpoint keeps models in files: safetensors and config.json as
// transformers reads and writes them, TensorFlow checkpoints of
// google-research/bert (reading), and the trainer's own folders, which are both
// a resumable state and a model for from_pretrained.
//
//	p, err := checkpoint.OpenPretrained(dir) // transformers' folder, or one of ours
//	if err != nil {
//		return err
//	}
//	defer p.Close()
//	report, err := model.Load(trainer.Weights, p.Tensors())
//
// # Safetensors
//
// Eight bytes, little endian: the length n of the header. n bytes of JSON: an
// object with one entry a tensor, name → {"dtype", "shape", "data_offsets":
// [begin, end]}, and optionally "__metadata__", strings by name. Then the data;
// offsets count from its first byte, tensors lie there row-major, little
// endian, without gaps. We write float32 tensors in the order of
// [trainer.Tensors], the metadata {"format": "pt"} that transformers asks for,
// and blanks after the JSON up to a multiple of eight bytes.
//
// Reading is strict and allocates no more than the file's size: a damaged file
// is an error, never a model. Files are read, not mapped: a file cut short
// while it is used is then an error too.
package checkpoint
