// Package checkpoint reads and writes models: safetensors and config.json as
// transformers does, TensorFlow checkpoints of google-research/bert (read
// only), files of torch.save (read only), and the trainer's own checkpoint
// folders. These can be resumed and are also models for from_pretrained.
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
//	+-----------------+----------------------------------+--------------------------+
//	| n uint64        | header: JSON, then blanks        | data: tensors, row-major |
//	| 8 bytes         | n bytes                          | little-endian, no gaps   |
//	+-----------------+----------------------------------+--------------------------+
//
//	{"__metadata__": {"format": "pt"},
//	 "NAME": {"dtype": "F32", "shape": [768, 768], "data_offsets": [BEGIN, END]}, ...}
//
// Integers are little-endian; offsets count from the first byte of the data.
// "__metadata__" is optional; transformers requires the format "pt". We write
// float32 tensors in the order of [trainer.Tensors] and pad the header to a
// multiple of eight bytes.
//
// Reading is strict, and allocates no more than the file's size: a corrupt file
// gives an error, never a model. Files are read, not mapped, so that a file
// truncated during use also gives an error.
package checkpoint
