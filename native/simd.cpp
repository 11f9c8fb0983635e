#include "simd.hpp"

#include <cstdlib>
#include <cstring>

namespace penstock {

namespace {

bool allowed() {
  const char* wish = std::getenv("PENSTOCK_SIMD");
  return wish == nullptr || std::strcmp(wish, "scalar") != 0;
}

}  // namespace

#if PENSTOCK_X86
bool has_avx2() {
  static const bool found = allowed() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                            __builtin_cpu_supports("bmi2");
  return found;
}

bool has_sse42() {
  static const bool found = allowed() && __builtin_cpu_supports("sse4.2");
  return found;
}
#else
bool has_avx2() { return false; }
bool has_sse42() { return false; }
#endif

const char* simd_name() { return has_avx2() ? "avx2" : "scalar"; }

}  // namespace penstock
