#include "simd.hpp"

#include <cstdlib>
#include <cstring>

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

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

bool has_crc32c() {
  static const bool found = allowed() && __builtin_cpu_supports("sse4.2");
  return found;
}
#else
bool has_avx2() { return false; }

#if defined(__aarch64__) && defined(__linux__)
bool has_crc32c() {
  static const bool found = allowed() && (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
  return found;
}
#else
bool has_crc32c() { return allowed(); }  // Apple's processors all have it; crc32c.cpp knows where nobody does
#endif
#endif

const char* simd_name() { return has_avx2() ? "avx2" : "scalar"; }

}  // namespace penstock
