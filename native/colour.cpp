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

namespace {

void interleave_plain(const uint8_t* __restrict a, const uint8_t* __restrict b, const uint8_t* __restrict c, size_t count, uint8_t* __restrict out) {
  for (size_t i = 0; i < count; ++i) {
    out[3 * i] = a[i];
    out[3 * i + 1] = b[i];
    out[3 * i + 2] = c[i];
  }
}

void deinterleave_plain(const uint8_t* __restrict source, size_t count, uint8_t* __restrict a, uint8_t* __restrict b, uint8_t* __restrict c) {
  for (size_t i = 0; i < count; ++i) {
    a[i] = source[3 * i];
    b[i] = source[3 * i + 1];
    c[i] = source[3 * i + 2];
  }
}

#if PENSTOCK_X86
// Byte shuffles between three planes of 16 and 16 pixels of three: where each byte of vector `v` goes, or comes from.
struct Shuffles {
  alignas(16) int8_t apart[3][3][16];     // [plane][vector of pixels]
  alignas(16) int8_t together[3][3][16];  // [vector of pixels][plane]
};

constexpr Shuffles make_shuffles() {
  Shuffles s{};
  for (int plane = 0; plane < 3; ++plane)
    for (int vector = 0; vector < 3; ++vector)
      for (int i = 0; i < 16; ++i) {
        const int from = 3 * i + plane - 16 * vector;  // pixel i's byte, in this vector
        s.apart[plane][vector][i] = static_cast<int8_t>(from >= 0 && from < 16 ? from : -1);
        const int byte = 16 * vector + i;  // this byte of the pixels
        s.together[vector][plane][i] = static_cast<int8_t>(byte % 3 == plane ? byte / 3 : -1);
      }
  return s;
}

constexpr Shuffles kShuffles = make_shuffles();

PENSTOCK_AVX2 inline __m128i load_16(const uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
PENSTOCK_AVX2 inline __m128i load_16(const int8_t* p) { return _mm_load_si128(reinterpret_cast<const __m128i*>(p)); }
PENSTOCK_AVX2 inline void store_16(uint8_t* p, __m128i v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }

PENSTOCK_AVX2 inline __m128i gather_three(const __m128i v[3], const int8_t masks[3][16]) {
  const __m128i one = _mm_shuffle_epi8(v[0], load_16(masks[0])), two = _mm_shuffle_epi8(v[1], load_16(masks[1]));
  return _mm_or_si128(_mm_or_si128(one, two), _mm_shuffle_epi8(v[2], load_16(masks[2])));
}

PENSTOCK_AVX2 size_t interleave_avx2(const uint8_t* a, const uint8_t* b, const uint8_t* c, size_t count, uint8_t* out) {
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m128i planes[3] = {load_16(a + i), load_16(b + i), load_16(c + i)};
    for (int vector = 0; vector < 3; ++vector) store_16(out + 3 * i + 16 * vector, gather_three(planes, kShuffles.together[vector]));
  }
  return i;
}

PENSTOCK_AVX2 size_t deinterleave_avx2(const uint8_t* source, size_t count, uint8_t* a, uint8_t* b, uint8_t* c) {
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m128i pixels[3] = {load_16(source + 3 * i), load_16(source + 3 * i + 16), load_16(source + 3 * i + 32)};
    store_16(a + i, gather_three(pixels, kShuffles.apart[0]));
    store_16(b + i, gather_three(pixels, kShuffles.apart[1]));
    store_16(c + i, gather_three(pixels, kShuffles.apart[2]));
  }
  return i;
}
#endif

}  // namespace

void interleave_3(const uint8_t* a, const uint8_t* b, const uint8_t* c, size_t count, uint8_t* out) {
  size_t done = 0;
#if PENSTOCK_X86
  if (has_avx2()) done = interleave_avx2(a, b, c, count, out);
#endif
  interleave_plain(a + done, b + done, c + done, count - done, out + 3 * done);
}

void deinterleave_3(const uint8_t* source, size_t count, uint8_t* a, uint8_t* b, uint8_t* c) {
  size_t done = 0;
#if PENSTOCK_X86
  if (has_avx2()) done = deinterleave_avx2(source, count, a, b, c);
#endif
  deinterleave_plain(source + 3 * done, count - done, a + done, b + done, c + done);
}

}  // namespace penstock
