// Compares what nvidia.h and api.h declare with NVIDIA's own headers. It is only
// compiled (make cuda-constants): every difference is an error of the compiler.
#include <cuda.h>
#include <cublasLt.h>
#define __CUDA_BF16_TYPES_EXIST__ // without it nccl.h hides ncclBfloat16 from C
#include <nccl.h>
#include <stddef.h>

#define PT_NVIDIA_HEADERS
#include "../api.h"

#define TYPE(name, like) \
	_Static_assert(sizeof(name) == sizeof(like), #name ": size"); \
	_Static_assert(__builtin_classify_type((name)0) == __builtin_classify_type((like)0), #name ": pointer or number");
PT_TYPES(TYPE)

#define CONSTANT(name, value) _Static_assert((int)(name) == (value), #name);
PT_CONSTANTS(CONSTANT)

#define FUNCTION(result, name, params, args) \
	static result(*check_##name) params; \
	_Static_assert(__builtin_types_compatible_p(__typeof__(check_##name), __typeof__(&name)), #name);
PT_CUDA(FUNCTION)
PT_BLAS(FUNCTION)
PT_NCCL(FUNCTION)
#define PLAIN(result, name) _Static_assert(__builtin_types_compatible_p(result (*)(void), __typeof__(&name)), #name);
PT_NCCL_PLAIN(PLAIN)
PT_NCCL_LAST_ERROR; // a second declaration must be the same
_Static_assert(__builtin_types_compatible_p(size_t (*)(void), __typeof__(&cublasLtGetVersion)), "cublasLtGetVersion");

// The structs, by the layout that nvidia.h gives them.
typedef struct {
	uint64_t data[8];
} algorithm;
typedef struct {
	algorithm algo;
	size_t workspaceSize;
	int state;
	float wavesCount;
	int reserved[4];
} result;
#define FIELD(theirs, ours, field) \
	_Static_assert(offsetof(theirs, field) == offsetof(ours, field) && sizeof(((theirs *)0)->field) == sizeof(((ours *)0)->field), #field);
FIELD(cublasLtMatmulAlgo_t, algorithm, data)
FIELD(cublasLtMatmulHeuristicResult_t, result, algo)
FIELD(cublasLtMatmulHeuristicResult_t, result, workspaceSize)
FIELD(cublasLtMatmulHeuristicResult_t, result, state)
FIELD(cublasLtMatmulHeuristicResult_t, result, wavesCount)
FIELD(cublasLtMatmulHeuristicResult_t, result, reserved)
typedef struct {
	char internal[128];
} id;
FIELD(ncclUniqueId, id, internal)
_Static_assert(sizeof(ncclUniqueId) == sizeof(id), "ncclUniqueId");
typedef struct {
	size_t size;
	unsigned int magic, version;
	int blocking;
} config;
FIELD(ncclConfig_t, config, size)
FIELD(ncclConfig_t, config, magic)
FIELD(ncclConfig_t, config, version)
FIELD(ncclConfig_t, config, blocking)
_Static_assert(sizeof(ncclConfig_t) >= sizeof(config), "ncclConfig_t");
_Static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(algorithm) && sizeof(cublasLtMatmulHeuristicResult_t) == sizeof(result), "structs");
_Static_assert(_Alignof(cublasLtMatmulAlgo_t) == _Alignof(algorithm), "alignment");

// Macros of pointers are no constants for the compiler; their text is.
#define TEXT(x) #x
#define IS(macro, text) _Static_assert(sizeof(TEXT(macro)) == sizeof(text) && __builtin_strcmp(TEXT(macro), text) == 0, #macro)
#define SAME(name, text) IS(name, text)
SAME(CU_LAUNCH_PARAM_BUFFER_POINTER, "((void*)0x01)");
SAME(CU_LAUNCH_PARAM_BUFFER_SIZE, "((void*)0x02)");
SAME(CU_LAUNCH_PARAM_END, "((void*)0x00)");

// The magic number stands only in an initializer.
#define TEXTS(...) #__VA_ARGS__
#define BEGINS(text, with) _Static_assert(__builtin_strncmp(text, with, sizeof(with) - 1) == 0, with)
#define EXPANDED(...) TEXTS(__VA_ARGS__)
BEGINS(EXPANDED(NCCL_CONFIG_INITIALIZER), "{ sizeof(ncclConfig_t), 0xcafebeef, ");
