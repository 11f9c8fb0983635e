// Which instructions may be used. Chosen once, at import: AVX2 where the processor has it, plain C++ otherwise (which
// the compiler vectorises for the baseline: SSE2 on x86-64, NEON on ARM). Both give the same bytes: all arithmetic is
// in integers, in the same order. PENSTOCK_SIMD=scalar in the environment turns the fast paths off, for tests.
#pragma once

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define PENSTOCK_X86 1
#include <immintrin.h>
#define PENSTOCK_AVX2 __attribute__((target("avx2,bmi,bmi2")))
#else
#define PENSTOCK_X86 0
#endif

namespace penstock {

bool has_avx2();         // AVX2, BMI1 and BMI2 are there and not turned off
bool has_crc32c();       // an instruction for the checksum
const char* simd_name();  // for people

}  // namespace penstock
