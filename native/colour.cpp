#include "colour.hpp"

#include "simd.hpp"

namespace penstock {

namespace {

// 16 bits of fraction. The green sum is one rounding, as in libjpeg.
constexpr int kHalf = 1 << 15;
constexpr int kRed = 91881, kGreenBlue = 22554, kGreenRed = 46802, kBlue = 116130;

inline uint8_t clamp8(int v) { return static_cast<uint8_t>(v < 0 ? 0 : v > 255 ? 255 : v); }

// Written once; compiled for the baseline and for AVX2, both vectorised by the compiler.
#define PENSTOCK_YCC_LOOP                                                              \
  for (size_t i = 0; i < count; ++i) {                                                 \
    const int u = cb[i] - 128, v = cr[i] - 128;                                        \
    r[i] = clamp8(y[i] + ((kRed * v + kHalf) >> 16));                                  \
    g[i] = clamp8(y[i] + ((-kGreenBlue * u - kGreenRed * v + kHalf) >> 16));           \
    b[i] = clamp8(y[i] + ((kBlue * u + kHalf) >> 16));                                 \
  }

void ycc_plain(const uint8_t* __restrict y, const uint8_t* __restrict cb, const uint8_t* __restrict cr, size_t count,
               uint8_t* __restrict r, uint8_t* __restrict g, uint8_t* __restrict b) {
  PENSTOCK_YCC_LOOP
}

#if PENSTOCK_X86
PENSTOCK_AVX2 void ycc_avx2(const uint8_t* __restrict y, const uint8_t* __restrict cb, const uint8_t* __restrict cr,
                            size_t count, uint8_t* __restrict r, uint8_t* __restrict g, uint8_t* __restrict b) {
  PENSTOCK_YCC_LOOP
}
#endif

}  // namespace

void ycc_to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, size_t count, uint8_t* r, uint8_t* g, uint8_t* b) {
#if PENSTOCK_X86
  if (has_avx2()) return ycc_avx2(y, cb, cr, count, r, g, b);
#endif
  ycc_plain(y, cb, cr, count, r, g, b);
}

void interleave_3(const uint8_t* __restrict a, const uint8_t* __restrict b, const uint8_t* __restrict c, size_t count, uint8_t* __restrict out) {
  for (size_t i = 0; i < count; ++i) {
    out[3 * i] = a[i];
    out[3 * i + 1] = b[i];
    out[3 * i + 2] = c[i];
  }
}

void deinterleave_3(const uint8_t* __restrict source, size_t count, uint8_t* __restrict a, uint8_t* __restrict b, uint8_t* __restrict c) {
  for (size_t i = 0; i < count; ++i) {
    a[i] = source[3 * i];
    b[i] = source[3 * i + 1];
    c[i] = source[3 * i + 2];
  }
}

}  // namespace penstock
