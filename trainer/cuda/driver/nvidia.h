// What this package uses of NVIDIA's headers, declared here so that building
// needs none of them: types, constants and one struct. headers/check.c compares
// every line with NVIDIA's own (make cuda-constants).
#ifndef PRETEXT_NVIDIA_H
#define PRETEXT_NVIDIA_H

#include <stddef.h>
#include <stdint.h>

// X(type, a type of the same size and register class)
#define PT_TYPES(X) \
	X(CUresult, int) \
	X(CUdevice, int) \
	X(CUdeviceptr, unsigned long long) \
	X(CUdevice_attribute, int) \
	X(CUfunction_attribute, int) \
	X(CUjit_option, int) \
	X(CUcontext, void *) \
	X(CUmodule, void *) \
	X(CUfunction, void *) \
	X(CUstream, void *) \
	X(CUevent, void *) \
	X(cudaStream_t, void *) \
	X(cudaDataType, int) \
	X(cublasStatus_t, int) \
	X(cublasComputeType_t, int) \
	X(cublasLtHandle_t, void *) \
	X(cublasLtMatmulDesc_t, void *) \
	X(cublasLtMatmulDescAttributes_t, int) \
	X(cublasLtMatrixLayout_t, void *) \
	X(cublasLtMatmulPreference_t, void *) \
	X(cublasLtMatmulPreferenceAttributes_t, int) \
	X(ncclResult_t, int) \
	X(ncclDataType_t, int) \
	X(ncclRedOp_t, int) \
	X(ncclComm_t, void *)

// X(name, value)
#define PT_CONSTANTS(X) \
	X(CUDA_SUCCESS, 0) \
	X(CUDA_ERROR_OUT_OF_MEMORY, 2) \
	X(CUDA_ERROR_NO_DEVICE, 100) \
	X(CUDA_ERROR_NOT_READY, 600) \
	X(CUDA_ERROR_ILLEGAL_ADDRESS, 700) \
	X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715) \
	X(CUDA_ERROR_MISALIGNED_ADDRESS, 716) \
	X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717) \
	X(CUDA_ERROR_INVALID_PC, 718) \
	X(CUDA_ERROR_LAUNCH_FAILED, 719) \
	X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16) \
	X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75) \
	X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76) \
	X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97) \
	X(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0) \
	X(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1) \
	X(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3) \
	X(CU_FUNC_ATTRIBUTE_NUM_REGS, 4) \
	X(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8) \
	X(CU_JIT_ERROR_LOG_BUFFER, 5) \
	X(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6) \
	X(CU_STREAM_NON_BLOCKING, 1) \
	X(CU_EVENT_DEFAULT, 0) \
	X(CU_EVENT_DISABLE_TIMING, 2) \
	X(CUDA_R_32F, 0) \
	X(CUDA_R_16F, 2) \
	X(CUDA_R_16BF, 14) \
	X(CUDA_R_8F_E4M3, 28) \
	X(CUDA_R_8F_E5M2, 29) \
	X(CUBLAS_COMPUTE_32F, 68) \
	X(CUBLAS_OP_N, 0) \
	X(CUBLAS_OP_T, 1) \
	X(CUBLAS_STATUS_SUCCESS, 0) \
	X(CUBLAS_STATUS_NOT_INITIALIZED, 1) \
	X(CUBLAS_STATUS_ALLOC_FAILED, 3) \
	X(CUBLAS_STATUS_INVALID_VALUE, 7) \
	X(CUBLAS_STATUS_ARCH_MISMATCH, 8) \
	X(CUBLAS_STATUS_MAPPING_ERROR, 11) \
	X(CUBLAS_STATUS_EXECUTION_FAILED, 13) \
	X(CUBLAS_STATUS_INTERNAL_ERROR, 14) \
	X(CUBLAS_STATUS_NOT_SUPPORTED, 15) \
	X(CUBLAS_STATUS_LICENSE_ERROR, 16) \
	X(CUBLASLT_MATMUL_DESC_TRANSA, 3) \
	X(CUBLASLT_MATMUL_DESC_TRANSB, 4) \
	X(CUBLASLT_MATMUL_DESC_EPILOGUE, 7) \
	X(CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8) \
	X(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, 11) \
	X(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 12) \
	X(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, 17) \
	X(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, 18) \
	X(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1) \
	X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5) \
	X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6) \
	X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7) \
	X(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8) \
	X(CUBLASLT_EPILOGUE_DEFAULT, 1) \
	X(CUBLASLT_EPILOGUE_BIAS, 4) \
	X(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, 164) \
	X(CUBLASLT_EPILOGUE_DGELU, 192) \
	X(CUBLASLT_EPILOGUE_DGELU_BGRAD, 208) \
	X(CUBLASLT_EPILOGUE_BGRADA, 256) \
	X(CUBLASLT_EPILOGUE_BGRADB, 512) \
	X(ncclSuccess, 0) \
	X(ncclUnhandledCudaError, 1) \
	X(ncclSystemError, 2) \
	X(ncclInternalError, 3) \
	X(ncclInvalidArgument, 4) \
	X(ncclInvalidUsage, 5) \
	X(ncclRemoteError, 6) \
	X(ncclInProgress, 7) \
	X(ncclSum, 0) \
	X(ncclFloat16, 6) \
	X(ncclFloat32, 7) \
	X(ncclBfloat16, 9) \
	X(NCCL_UNIQUE_ID_BYTES, 128)

#ifndef PT_NVIDIA_HEADERS // headers/check.c has the originals

#define PT_TYPE(name, like) typedef like name;
PT_TYPES(PT_TYPE)
#undef PT_TYPE

// cuLaunchKernel's keys for arguments as flat bytes. In cuda.h they are macros of
// pointers, which headers/check.c compares by name.
#define CU_LAUNCH_PARAM_END ((void *)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)

typedef struct {
	uint64_t data[8];
} cublasLtMatmulAlgo_t;

typedef struct {
	cublasLtMatmulAlgo_t algo;
	size_t workspaceSize;
	cublasStatus_t state;
	float wavesCount;
	int reserved[4];
} cublasLtMatmulHeuristicResult_t;

typedef struct {
	char internal[128];
} ncclUniqueId;

// The beginning of NCCL's struct, as NCCL 2.14 declared it. NCCL reads as many
// bytes as size says, and takes its defaults for the fields of newer versions.
typedef struct {
	size_t size;
	unsigned int magic, version;
	int blocking;
} ncclConfig_t;
#define NCCL_API_MAGIC 0xcafebeef

#define PT_CONSTANT(name, value) name = value,
enum { PT_CONSTANTS(PT_CONSTANT) };
#undef PT_CONSTANT

#endif
#endif
