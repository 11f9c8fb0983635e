#include "idct.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "simd.hpp"

namespace penstock {

namespace {

constexpr int kConstBits = 13, kPass1Bits = 2;
constexpr int kMost = 8191;  // of a value in the first row

// Cosine products of the transform after Loeffler, Ligtenberg and Moschytz, times 2^13.
constexpr int F0298 = 2446, F0390 = 3196, F0541 = 4433, F0765 = 6270, F0899 = 7373, F1175 = 9633, F1501 = 12299,
              F1847 = 15137, F1961 = 16069, F2053 = 16819, F2562 = 20995, F3072 = 25172;

inline int16_t wrap(int v) { return static_cast<int16_t>(static_cast<uint16_t>(v)); }
inline int16_t saturate(int v) { return static_cast<int16_t>(std::clamp(v, -32768, 32767)); }
inline int shift_round(int64_t v, int bits) { return static_cast<int32_t>(static_cast<uint32_t>(v) + (1u << (bits - 1))) >> bits; }

// Eight values `step` apart, in place; sums in 32 bits, inputs and results in 16, exactly like the vector code.
void islow_1d(int16_t* v, int step, int shift) {
  const int16_t in0 = v[0], in1 = v[step], in2 = v[2 * step], in3 = v[3 * step], in4 = v[4 * step], in5 = v[5 * step],
                in6 = v[6 * step], in7 = v[7 * step];
  const int64_t even3 = in2 * (F0541 + F0765) + in6 * F0541;
  const int64_t even2 = in2 * F0541 + in6 * (F0541 - F1847);
  const int64_t even0 = static_cast<int64_t>(wrap(in0 + in4)) * (1 << kConstBits);
  const int64_t even1 = static_cast<int64_t>(wrap(in0 - in4)) * (1 << kConstBits);
  const int64_t s0 = even0 + even3, s3 = even0 - even3, s1 = even1 + even2, s2 = even1 - even2;
  const int16_t z3 = wrap(in7 + in3), z4 = wrap(in5 + in1);
  const int64_t w3 = z3 * (F1175 - F1961) + z4 * F1175;
  const int64_t w4 = z3 * F1175 + z4 * (F1175 - F0390);
  const int64_t o0 = in7 * (F0298 - F0899) - in1 * F0899 + w3;
  const int64_t o3 = in1 * (F1501 - F0899) - in7 * F0899 + w4;
  const int64_t o1 = in5 * (F2053 - F2562) - in3 * F2562 + w4;
  const int64_t o2 = in3 * (F3072 - F2562) - in5 * F2562 + w3;
  const int64_t sums[8] = {s0 + o3, s1 + o2, s2 + o1, s3 + o0, s3 - o0, s2 - o1, s1 - o2, s0 - o3};
  for (int i = 0; i < 8; ++i) v[i * step] = saturate(shift_round(sums[i], shift));
}

inline uint8_t to_sample(int16_t v) { return static_cast<uint8_t>(std::clamp<int>(v, -128, 127) + 128); }

// Row j of the reduced transform: how much of each frequency is in the mean of `reduction` neighbouring samples, times 2^13.
// cos((2x+1)uπ/16) averaged over x in [j·r, (j+1)·r), times √2 but for u = 0.
template <int kSize>
struct Reduced;
template <>
struct Reduced<4> {
  static constexpr int16_t m[4][8] = {{8192, 10498, 7568, 3686, 0, -2463, -3135, -2088},
                                      {8192, 4348, -7568, -8900, 0, 5946, 3135, -865},
                                      {8192, -4348, -7568, 8900, 0, -5946, 3135, 865},
                                      {8192, -10498, 7568, -3686, 0, 2463, -3135, 2088}};
};
template <>
struct Reduced<2> {
  static constexpr int16_t m[2][8] = {{8192, 7423, 0, -2607, 0, 1742, 0, -1477}, {8192, -7423, 0, 2607, 0, -1742, 0, 1477}};
};

template <int kSize>
void reduced_scalar(const int16_t* block, uint8_t* out, size_t stride) {
  int16_t rows[kSize][8];
  for (int j = 0; j < kSize; ++j)
    for (int x = 0; x < 8; ++x) {
      int64_t sum = 0;
      for (int u = 0; u < 8; ++u) sum += Reduced<kSize>::m[j][u] * block[8 * u + x];
      rows[j][x] = saturate(shift_round(sum, kConstBits - kPass1Bits));
    }
  for (int j = 0; j < kSize; ++j)
    for (int i = 0; i < kSize; ++i) {
      int64_t sum = 0;
      for (int u = 0; u < 8; ++u) sum += Reduced<kSize>::m[i][u] * rows[j][u];
      out[j * stride + i] = to_sample(saturate(shift_round(sum, kConstBits + kPass1Bits + 3)));
    }
}

void idct_scalar(const int16_t* block, int reduction, uint8_t* out, size_t stride) {
  if (reduction == 8) {
    out[0] = to_sample(saturate((block[0] + 4) >> 3));
    return;
  }
  if (reduction == 4) return reduced_scalar<2>(block, out, stride);
  if (reduction == 2) return reduced_scalar<4>(block, out, stride);
  int16_t work[64];
  std::memcpy(work, block, sizeof work);
  for (int x = 0; x < 8; ++x) islow_1d(work + x, 8, kConstBits - kPass1Bits);
  for (int y = 0; y < 8; ++y) islow_1d(work + 8 * y, 1, kConstBits + kPass1Bits + 3);
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 8; ++x) out[y * stride + x] = to_sample(work[8 * y + x]);
}

#if PENSTOCK_X86
// Two blocks at once: one in the low half of each vector, the other in the high half. All steps stay within halves.
using V = __m256i;

PENSTOCK_AVX2 inline V constants(int even, int odd) {
  return _mm256_set1_epi32(static_cast<int>(static_cast<uint32_t>(odd & 0xFFFF) << 16 | static_cast<uint32_t>(even & 0xFFFF)));
}

struct Wide {
  V low, high;  // 32-bit sums for columns 0-3 and 4-7
};

PENSTOCK_AVX2 inline Wide multiply(V low, V high, V by) { return {_mm256_madd_epi16(low, by), _mm256_madd_epi16(high, by)}; }
PENSTOCK_AVX2 inline Wide plus(Wide a, Wide b) { return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)}; }
PENSTOCK_AVX2 inline Wide minus(Wide a, Wide b) { return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)}; }

template <int kShift>
PENSTOCK_AVX2 inline V narrow(Wide v) {
  const V round = _mm256_set1_epi32(1 << (kShift - 1));
  return _mm256_packs_epi32(_mm256_srai_epi32(_mm256_add_epi32(v.low, round), kShift),
                            _mm256_srai_epi32(_mm256_add_epi32(v.high, round), kShift));
}

// 16-bit values times 2^13, in 32 bits.
PENSTOCK_AVX2 inline Wide widen(V v) {
  const V zero = _mm256_setzero_si256();
  return {_mm256_srai_epi32(_mm256_unpacklo_epi16(zero, v), 16 - kConstBits),
          _mm256_srai_epi32(_mm256_unpackhi_epi16(zero, v), 16 - kConstBits)};
}

template <int kShift>
PENSTOCK_AVX2 inline void islow_pass(V v[8]) {
  const V a = _mm256_unpacklo_epi16(v[2], v[6]), b = _mm256_unpackhi_epi16(v[2], v[6]);
  const Wide even3 = multiply(a, b, constants(F0541 + F0765, F0541));
  const Wide even2 = multiply(a, b, constants(F0541, F0541 - F1847));
  const Wide even0 = widen(_mm256_add_epi16(v[0], v[4])), even1 = widen(_mm256_sub_epi16(v[0], v[4]));
  const Wide s0 = plus(even0, even3), s3 = minus(even0, even3), s1 = plus(even1, even2), s2 = minus(even1, even2);
  const V z3 = _mm256_add_epi16(v[7], v[3]), z4 = _mm256_add_epi16(v[5], v[1]);
  const V zl = _mm256_unpacklo_epi16(z3, z4), zh = _mm256_unpackhi_epi16(z3, z4);
  const Wide w3 = multiply(zl, zh, constants(F1175 - F1961, F1175)), w4 = multiply(zl, zh, constants(F1175, F1175 - F0390));
  const V pl = _mm256_unpacklo_epi16(v[7], v[1]), ph = _mm256_unpackhi_epi16(v[7], v[1]);
  const Wide o0 = plus(multiply(pl, ph, constants(F0298 - F0899, -F0899)), w3);
  const Wide o3 = plus(multiply(pl, ph, constants(-F0899, F1501 - F0899)), w4);
  const V ql = _mm256_unpacklo_epi16(v[5], v[3]), qh = _mm256_unpackhi_epi16(v[5], v[3]);
  const Wide o1 = plus(multiply(ql, qh, constants(F2053 - F2562, -F2562)), w4);
  const Wide o2 = plus(multiply(ql, qh, constants(-F2562, F3072 - F2562)), w3);
  v[0] = narrow<kShift>(plus(s0, o3));
  v[7] = narrow<kShift>(minus(s0, o3));
  v[1] = narrow<kShift>(plus(s1, o2));
  v[6] = narrow<kShift>(minus(s1, o2));
  v[2] = narrow<kShift>(plus(s2, o1));
  v[5] = narrow<kShift>(minus(s2, o1));
  v[3] = narrow<kShift>(plus(s3, o0));
  v[4] = narrow<kShift>(minus(s3, o0));
}

PENSTOCK_AVX2 inline void transpose_8(V v[8]) {
  V a[8], b[8];
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = _mm256_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
    a[2 * i + 1] = _mm256_unpackhi_epi16(v[2 * i], v[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    b[4 * i] = _mm256_unpacklo_epi32(a[4 * i], a[4 * i + 2]);
    b[4 * i + 1] = _mm256_unpackhi_epi32(a[4 * i], a[4 * i + 2]);
    b[4 * i + 2] = _mm256_unpacklo_epi32(a[4 * i + 1], a[4 * i + 3]);
    b[4 * i + 3] = _mm256_unpackhi_epi32(a[4 * i + 1], a[4 * i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    v[2 * i] = _mm256_unpacklo_epi64(b[i], b[i + 4]);
    v[2 * i + 1] = _mm256_unpackhi_epi64(b[i], b[i + 4]);
  }
}

PENSTOCK_AVX2 inline bool load_two(const int16_t* one, const int16_t* other, V v[8]) {
  for (int i = 0; i < 8; ++i)
    v[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(one + 8 * i))),
                                   _mm_loadu_si128(reinterpret_cast<const __m128i*>(other + 8 * i)), 1);
  const V beyond = _mm256_cmpgt_epi16(_mm256_abs_epi16(v[0]), _mm256_set1_epi16(kMost));
  const V smallest = _mm256_cmpeq_epi16(v[0], _mm256_set1_epi16(-32768));  // has no absolute value
  const V any = _mm256_or_si256(beyond, smallest);
  return _mm256_testz_si256(any, any) != 0;
}

PENSTOCK_AVX2 bool full_avx2(const int16_t* one, const int16_t* other, uint8_t* out_one, uint8_t* out_other, size_t stride) {
  V v[8];
  if (!load_two(one, other, v)) return false;
  islow_pass<kConstBits - kPass1Bits>(v);
  transpose_8(v);
  islow_pass<kConstBits + kPass1Bits + 3>(v);
  transpose_8(v);
  const V offset = _mm256_set1_epi8(static_cast<char>(128));
  for (int i = 0; i < 8; i += 2) {
    const V rows = _mm256_add_epi8(_mm256_packs_epi16(v[i], v[i + 1]), offset);
    const __m128i low = _mm256_castsi256_si128(rows), high = _mm256_extracti128_si256(rows, 1);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out_one + i * stride), low);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out_other + i * stride), high);
    _mm_storeh_pd(reinterpret_cast<double*>(out_one + (i + 1) * stride), _mm_castsi128_pd(low));
    _mm_storeh_pd(reinterpret_cast<double*>(out_other + (i + 1) * stride), _mm_castsi128_pd(high));
  }
  return true;
}

template <int kSize, int kShift>
PENSTOCK_AVX2 inline void reduced_pass(V v[8]) {
  V low[4], high[4];
  for (int p = 0; p < 4; ++p) {
    low[p] = _mm256_unpacklo_epi16(v[2 * p], v[2 * p + 1]);
    high[p] = _mm256_unpackhi_epi16(v[2 * p], v[2 * p + 1]);
  }
  for (int j = 0; j < kSize; ++j) {
    Wide sum = multiply(low[0], high[0], constants(Reduced<kSize>::m[j][0], Reduced<kSize>::m[j][1]));
    for (int p = 1; p < 4; ++p)
      sum = plus(sum, multiply(low[p], high[p], constants(Reduced<kSize>::m[j][2 * p], Reduced<kSize>::m[j][2 * p + 1])));
    v[j] = narrow<kShift>(sum);
  }
  for (int j = kSize; j < 8; ++j) v[j] = _mm256_setzero_si256();
}

template <int kSize>
PENSTOCK_AVX2 bool reduced_avx2(const int16_t* one, const int16_t* other, uint8_t* out_one, uint8_t* out_other, size_t stride) {
  V v[8];
  if (!load_two(one, other, v)) return false;
  reduced_pass<kSize, kConstBits - kPass1Bits>(v);
  transpose_8(v);
  reduced_pass<kSize, kConstBits + kPass1Bits + 3>(v);
  transpose_8(v);
  const V offset = _mm256_set1_epi8(static_cast<char>(128));
  for (int i = 0; i < kSize; ++i) {
    const V row = _mm256_add_epi8(_mm256_packs_epi16(v[i], v[i]), offset);
    const int first = _mm256_extract_epi32(row, 0), second = _mm256_extract_epi32(row, 4);
    std::memcpy(out_one + i * stride, &first, kSize);
    std::memcpy(out_other + i * stride, &second, kSize);
  }
  return true;
}
#endif

// Whether a sample of the block might lie outside 0 … 255 and be cut off. Each coefficient moves a sample by a quarter of
// itself at the most, and the first moves all by an eighth.
bool may_clip(const int16_t* block) {
  int sum = 0;
  for (int k = 0; k < 64; ++k) sum += std::abs(static_cast<int>(block[k]));
  const int first = std::abs(static_cast<int>(block[0]));
  return first + 2 * (sum - first) > 8 * 127;
}

// Means of what the whole transform gives, cut off and all.
void average(const uint8_t* samples, int reduction, uint8_t* out, size_t stride) {
  const int size = 8 / reduction, area = reduction * reduction;
  for (int j = 0; j < size; ++j)
    for (int i = 0; i < size; ++i) {
      int sum = area / 2;
      for (int y = 0; y < reduction; ++y)
        for (int x = 0; x < reduction; ++x) sum += samples[(j * reduction + y) * 8 + i * reduction + x];
      out[j * stride + i] = static_cast<uint8_t>(sum / area);
    }
}

}  // namespace

bool idct_two(const int16_t* one, const int16_t* other, int reduction, uint8_t* out_one, uint8_t* out_other, size_t stride) {
  if (reduction > 1 && (may_clip(one) || may_clip(other))) {
    uint8_t whole[2][64];
    if (!idct_two(one, other, 1, whole[0], whole[1], 8)) return false;
    average(whole[0], reduction, out_one, stride);
    average(whole[1], reduction, out_other, stride);
    return true;
  }
#if PENSTOCK_X86
  if (has_avx2() && reduction < 8) {
    if (reduction == 1) return full_avx2(one, other, out_one, out_other, stride);
    if (reduction == 2) return reduced_avx2<4>(one, other, out_one, out_other, stride);
    return reduced_avx2<2>(one, other, out_one, out_other, stride);
  }
#endif
  for (int x = 0; x < 8; ++x)
    if (std::abs(one[x]) > kMost || std::abs(other[x]) > kMost) return false;
  idct_scalar(one, reduction, out_one, stride);
  idct_scalar(other, reduction, out_other, stride);
  return true;
}

}  // namespace penstock
