// Package device is the interface between the CUDA backend and a GPU: memory,
// copies, streams, events, kernels and matrix products, with the semantics of
// the CUDA driver and of cuBLASLt.
//
//	m, err := d.Load(ptx)
//	f, limits, err := d.Function(m, "layernorm_forward")
//	s, err := d.NewStream()
//	err = d.Launch(s, f, device.Config{Grid: device.Dim{X: rows}, Block: device.Dim{X: 128}}, args)
//	err = d.SyncStream(s)
//
// It has two implementations: trainer/cuda/driver calls the CUDA libraries,
// trainer/cuda/sim interprets the same PTX on the CPU.
//
// Both implement [Collectives] too: sums and copies between the devices of several
// ranks, with the semantics of NCCL.
package device
