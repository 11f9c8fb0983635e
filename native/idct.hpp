// Coefficients to samples.
//
// At full size this is libjpeg's accurate integer transform ("islow"), with the rounding and the 16-bit wrap-around of
// libjpeg-turbo's vector code, so that samples are equal bit for bit. At a reduced size each sample is the exact mean of
// the 2 × 2, 4 × 4 or 8 × 8 samples that it stands for: averaging folds each high frequency onto a low one, which costs
// no more than leaving it out, as libjpeg does, and makes reduced planes safe to resample as if they were whole. Blocks
// with samples that may have to be cut off at 0 or 255 are transformed whole and averaged: a mean hides what was cut off.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// Two row-major dequantised blocks to two squares of 8 / reduction samples. False, with nothing written, if a value in the
// first rows is eight times what an 8-bit image can have: there libjpeg-turbo's code for flat columns overflows in a way
// of its own.
bool idct_two(const int16_t* one, const int16_t* other, int reduction, uint8_t* out_one, uint8_t* out_other, size_t stride);

}  // namespace penstock
