// libjpeg-turbo: decodes whatever our own decoder leaves alone, and transcodes.
//
// It reports trouble by longjmp, so no frame it may jump out of holds an object with a destructor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "axis.hpp"
#include "jpeg_header.hpp"
#include "resample.hpp"

namespace penstock {

struct TurboImage {
  Buffer memory;
  const uint8_t* pixels = nullptr;  // interleaved RGB, rows `rows` of the (possibly reduced) image
  int width = 0;                    // of the whole reduced image
  int height = 0;
  Range rows{0, 0};
  std::string warning;  // libjpeg's first, empty if none
  std::string error;    // no pixels if not empty
};

// Decodes at 1/reduction (1, 2, 4, 8), keeping only full-size rows [rows.start, rows.stop).
void turbo_decode(Bytes data, int reduction, Range rows, TurboImage& image);

// The quantised coefficients of a whole image.
class TurboCoefficients {
 public:
  TurboCoefficients();
  ~TurboCoefficients();
  TurboCoefficients(const TurboCoefficients&) = delete;
  TurboCoefficients& operator=(const TurboCoefficients&) = delete;

  // Empty, or why the data cannot be read without a warning. The data must outlive this object.
  std::string read(Bytes data);

  // As baseline JPEG with a restart marker every `interval` MCUs, optimised Huffman tables, and all markers kept. Once only.
  std::string write(int interval, std::vector<uint8_t>& out);

  int components() const;
  int blocks_across(int component) const;
  int blocks_down(int component) const;
  const int16_t* row(int component, int block_row);  // its blocks one after another, row-major
  const uint16_t* quantizer(int component) const;    // row-major

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
