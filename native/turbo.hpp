// libjpeg-turbo: decodes whatever our own decoder leaves alone, and transcodes.
//
// It reports trouble by longjmp, so no frame it may jump out of holds an object with a destructor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "axis.hpp"
#include "jpeg_header.hpp"

namespace penstock {

struct TurboImage {
  std::vector<uint8_t> pixels;  // interleaved RGB, rows `rows` of the (possibly reduced) image
  int width = 0;                // of the whole reduced image
  int height = 0;
  Range rows{0, 0};
  std::string warning;  // libjpeg's first, empty if none
  std::string error;    // no pixels if not empty
};

// Decodes at 1/reduction (1, 2, 4, 8), keeping only full-size rows [rows.start, rows.stop).
void turbo_decode(Bytes data, int reduction, Range rows, TurboImage& image);

// Rewrites losslessly: baseline, a restart marker every `interval` MCUs, optimised Huffman tables, all markers kept.
// Returns an empty string or why it could not.
std::string turbo_transcode(Bytes data, int interval, std::vector<uint8_t>& out);

// Whether both files hold the same coefficients and quantisation tables. Empty if so, else the difference.
std::string turbo_compare(Bytes one, Bytes other);

}  // namespace penstock
