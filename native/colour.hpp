// From three planes on the output grid to the pixels the caller wants: colour conversion and layout.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// YCbCr (JFIF, full range) to RGB, as libjpeg rounds it. Planes lie `plane_stride` apart row by row.
void ycc_to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, size_t count, uint8_t* r, uint8_t* g, uint8_t* b);

void interleave_3(const uint8_t* a, const uint8_t* b, const uint8_t* c, size_t count, uint8_t* out);
void deinterleave_3(const uint8_t* source, size_t count, uint8_t* a, uint8_t* b, uint8_t* c);

}  // namespace penstock
