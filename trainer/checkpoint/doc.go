// Package checkpoint reads and writes models in these forms:
//
//   - model folders of transformers: config.json and safetensors
//
//   - TensorFlow checkpoints of google-research/bert (read only)
//
//   - files written by torch.save (read only)
//
//   - checkpoint folders of the trainer; a run can resume from them, and
//     transformers' from_pretrained can load them
//
//     p, err := checkpoint.OpenPretrained(dir) // a model folder or a checkpoint folder
//     if err != nil {
//     return err
//     }
//     defer p.Close()
//     report, err := model.Load(trainer.Weights, p.Tensors())
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
// "__metadata__" is optional; transformers requires the format "pt". This
// package writes float32 tensors in the order of [trainer.Tensors] and pads the
// header to a multiple of eight bytes.
//
// Reading is strict: a corrupt file gives an error, never a model, and reading
// never allocates more than the file's size. Files are not memory-mapped, so a
// file that is truncated while it is open also gives an error.
package checkpoint
