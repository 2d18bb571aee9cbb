// The functions of NVIDIA's libraries that this package calls, each one line:
// result, name, parameters as NVIDIA declares them, and the same for a call.
// A name ends in _v2 where cuda.h maps the plain name to it. headers/check.c
// compares every prototype with NVIDIA's own (make cuda-constants).
#ifndef PRETEXT_API_H
#define PRETEXT_API_H

#include "nvidia.h"

#define PT_CUDA(X) \
	X(CUresult, cuInit, (unsigned int flags), (flags)) \
	X(CUresult, cuDriverGetVersion, (int *version), (version)) \
	X(CUresult, cuGetErrorName, (CUresult code, const char **text), (code, text)) \
	X(CUresult, cuGetErrorString, (CUresult code, const char **text), (code, text)) \
	X(CUresult, cuDeviceGetCount, (int *count), (count)) \
	X(CUresult, cuDeviceGet, (CUdevice *device, int ordinal), (device, ordinal)) \
	X(CUresult, cuDeviceGetName, (char *name, int size, CUdevice device), (name, size, device)) \
	X(CUresult, cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device), (value, attribute, device)) \
	X(CUresult, cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device), (bytes, device)) \
	X(CUresult, cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device), (context, device)) \
	X(CUresult, cuDevicePrimaryCtxRelease_v2, (CUdevice device), (device)) \
	X(CUresult, cuCtxSetCurrent, (CUcontext context), (context)) \
	X(CUresult, cuMemGetInfo_v2, (size_t *available, size_t *total), (available, total)) \
	X(CUresult, cuMemAlloc_v2, (CUdeviceptr *p, size_t bytes), (p, bytes)) \
	X(CUresult, cuMemFree_v2, (CUdeviceptr p), (p)) \
	X(CUresult, cuMemHostAlloc, (void **p, size_t bytes, unsigned int flags), (p, bytes, flags)) \
	X(CUresult, cuMemFreeHost, (void *p), (p)) \
	X(CUresult, cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream), (to, from, bytes, stream)) \
	X(CUresult, cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, stream)) \
	X(CUresult, cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, stream)) \
	X(CUresult, cuMemsetD8Async, (CUdeviceptr p, unsigned char value, size_t count, CUstream stream), (p, value, count, stream)) \
	X(CUresult, cuModuleLoadDataEx, (CUmodule *module, const void *image, unsigned int options, CUjit_option *keys, void **values), (module, image, options, keys, values)) \
	X(CUresult, cuModuleUnload, (CUmodule module), (module)) \
	X(CUresult, cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name), (function, module, name)) \
	X(CUresult, cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction function), (value, attribute, function)) \
	X(CUresult, cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value), (function, attribute, value)) \
	X(CUresult, cuLaunchKernel, (CUfunction function, unsigned int gridX, unsigned int gridY, unsigned int gridZ, unsigned int blockX, unsigned int blockY, unsigned int blockZ, unsigned int shared, CUstream stream, void **params, void **extra), (function, gridX, gridY, gridZ, blockX, blockY, blockZ, shared, stream, params, extra)) \
	X(CUresult, cuStreamCreate, (CUstream *stream, unsigned int flags), (stream, flags)) \
	X(CUresult, cuStreamDestroy_v2, (CUstream stream), (stream)) \
	X(CUresult, cuStreamSynchronize, (CUstream stream), (stream)) \
	X(CUresult, cuStreamQuery, (CUstream stream), (stream)) \
	X(CUresult, cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags), (stream, event, flags)) \
	X(CUresult, cuEventCreate, (CUevent *event, unsigned int flags), (event, flags)) \
	X(CUresult, cuEventDestroy_v2, (CUevent event), (event)) \
	X(CUresult, cuEventRecord, (CUevent event, CUstream stream), (event, stream)) \
	X(CUresult, cuEventSynchronize, (CUevent event), (event)) \
	X(CUresult, cuEventQuery, (CUevent event), (event)) \
	X(CUresult, cuEventElapsedTime, (float *milliseconds, CUevent from, CUevent to), (milliseconds, from, to))

#define PT_BLAS(X) \
	X(cublasStatus_t, cublasLtCreate, (cublasLtHandle_t *handle), (handle)) \
	X(cublasStatus_t, cublasLtDestroy, (cublasLtHandle_t handle), (handle)) \
	X(cublasStatus_t, cublasLtMatmulDescCreate, (cublasLtMatmulDesc_t *desc, cublasComputeType_t compute, cudaDataType scale), (desc, compute, scale)) \
	X(cublasStatus_t, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t desc), (desc)) \
	X(cublasStatus_t, cublasLtMatmulDescSetAttribute, (cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute, const void *value, size_t bytes), (desc, attribute, value, bytes)) \
	X(cublasStatus_t, cublasLtMatrixLayoutCreate, (cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld), (layout, type, rows, cols, ld)) \
	X(cublasStatus_t, cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t layout), (layout)) \
	X(cublasStatus_t, cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t *preference), (preference)) \
	X(cublasStatus_t, cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t preference), (preference)) \
	X(cublasStatus_t, cublasLtMatmulPreferenceSetAttribute, (cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const void *value, size_t bytes), (preference, attribute, value, bytes)) \
	X(cublasStatus_t, cublasLtMatmulAlgoGetHeuristic, (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int wanted, cublasLtMatmulHeuristicResult_t *results, int *found), (handle, desc, a, b, c, d, preference, wanted, results, found)) \
	X(cublasStatus_t, cublasLtMatmulAlgoCheck, (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algorithm, cublasLtMatmulHeuristicResult_t *result), (handle, desc, a, b, c, d, algorithm, result)) \
	X(cublasStatus_t, cublasLtMatmul, (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *a, cublasLtMatrixLayout_t aLayout, const void *b, cublasLtMatrixLayout_t bLayout, const void *beta, const void *c, cublasLtMatrixLayout_t cLayout, void *d, cublasLtMatrixLayout_t dLayout, const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t workspaceBytes, cudaStream_t stream), (handle, desc, alpha, a, aLayout, b, bLayout, beta, c, cLayout, d, dLayout, algorithm, workspace, workspaceBytes, stream))

// Without parameters.
#define PT_BLAS_PLAIN(X) X(size_t, cublasLtGetVersion)

// NCCL is bound only when ranks communicate; until then its functions are NULL.
#define PT_NCCL(X) \
	X(ncclResult_t, ncclGetVersion, (int *version), (version)) \
	X(ncclResult_t, ncclGetUniqueId, (ncclUniqueId *id), (id)) \
	X(ncclResult_t, ncclCommInitRankConfig, (ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config), (comm, ranks, id, rank, config)) \
	X(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t *state), (comm, state)) \
	X(ncclResult_t, ncclCommFinalize, (ncclComm_t comm), (comm)) \
	X(ncclResult_t, ncclCommDestroy, (ncclComm_t comm), (comm)) \
	X(ncclResult_t, ncclCommAbort, (ncclComm_t comm), (comm)) \
	X(ncclResult_t, ncclAllReduce, (const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream), (send, receive, count, type, op, comm, stream)) \
	X(ncclResult_t, ncclReduceScatter, (const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream), (send, receive, count, type, op, comm, stream)) \
	X(ncclResult_t, ncclAllGather, (const void *send, void *receive, size_t count, ncclDataType_t type, ncclComm_t comm, cudaStream_t stream), (send, receive, count, type, comm, stream)) \
	X(ncclResult_t, ncclBroadcast, (const void *send, void *receive, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream), (send, receive, count, type, root, comm, stream))

#define PT_NCCL_PLAIN(X) \
	X(ncclResult_t, ncclGroupStart) \
	X(ncclResult_t, ncclGroupEnd)

// A function that returns text, which fits into neither table.
#define PT_NCCL_LAST_ERROR const char *ncclGetLastError(ncclComm_t comm)

#endif
