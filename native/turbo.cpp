#include "turbo.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <jpeglib.h>

// libjpeg's own messages, by their numbers. Its own error module is not linked: it prints to stderr and exits.
#define JCOPYRIGHT_SHORT ""
#define JVERSION ""
#define JMESSAGE(code, text) text,
static const char* const kMessages[] = {
#include <jerror.h>
    nullptr};

namespace penstock {

namespace {

constexpr int kMaxScans = 500;  // a progressive file of a few kilobytes can ask for days of work

struct Trouble {
  jpeg_error_mgr base;
  std::jmp_buf escape;
  char error[JMSG_LENGTH_MAX];
  char warning[JMSG_LENGTH_MAX];
};

void format(j_common_ptr info, char* text) {
  const jpeg_error_mgr* err = info->err;
  constexpr int kCount = static_cast<int>(sizeof kMessages / sizeof *kMessages) - 1;
  const char* message = err->msg_code > 0 && err->msg_code < kCount ? kMessages[err->msg_code] : "unknown libjpeg message";
  if (std::strstr(message, "%s"))
    std::snprintf(text, JMSG_LENGTH_MAX, message, err->msg_parm.s);
  else
    std::snprintf(text, JMSG_LENGTH_MAX, message, err->msg_parm.i[0], err->msg_parm.i[1], err->msg_parm.i[2], err->msg_parm.i[3],
                  err->msg_parm.i[4], err->msg_parm.i[5], err->msg_parm.i[6], err->msg_parm.i[7]);
}

[[noreturn]] void on_error(j_common_ptr info) {
  auto* trouble = reinterpret_cast<Trouble*>(info->err);
  format(info, trouble->error);
  std::longjmp(trouble->escape, 1);
}

void on_message(j_common_ptr info, int level) {
  auto* trouble = reinterpret_cast<Trouble*>(info->err);
  if (level >= 0) return;  // trace
  if (info->err->num_warnings++ == 0) format(info, trouble->warning);
}

void on_output(j_common_ptr) {}
void on_format(j_common_ptr info, char* text) { format(info, text); }
void on_reset(j_common_ptr info) { info->err->num_warnings = 0; }

void watch_scans(j_common_ptr info) {
  if (!info->is_decompressor) return;
  const auto* decoder = reinterpret_cast<j_decompress_ptr>(info);
  if (decoder->input_scan_number > kMaxScans) {
    auto* trouble = reinterpret_cast<Trouble*>(info->err);
    std::snprintf(trouble->error, sizeof trouble->error, "more than %d scans", kMaxScans);
    std::longjmp(trouble->escape, 1);
  }
}

jpeg_error_mgr* prepare(Trouble& trouble) {
  trouble.base = {};
  trouble.base.error_exit = on_error;
  trouble.base.emit_message = on_message;
  trouble.base.output_message = on_output;
  trouble.base.format_message = on_format;
  trouble.base.reset_error_mgr = on_reset;
  trouble.error[0] = trouble.warning[0] = 0;
  return &trouble.base;
}

struct Decoder {
  jpeg_decompress_struct info{};
  Trouble trouble{};
  jpeg_progress_mgr progress{};
  bool created = false;

  // Call under setjmp(trouble.escape).
  void open(Bytes data) {
    info.err = prepare(trouble);
    jpeg_create_decompress(&info);
    created = true;
    progress.progress_monitor = watch_scans;
    info.progress = &progress;
    jpeg_mem_src(&info, data.data(), static_cast<unsigned long>(data.size()));
  }
  ~Decoder() {
    if (created) jpeg_destroy_decompress(&info);
  }
};

bool decode_rows(Decoder& d, Bytes data, int reduction, Range rows, TurboImage& image) {
  if (setjmp(d.trouble.escape)) return false;
  d.open(data);
  jpeg_read_header(&d.info, TRUE);
  d.info.scale_num = 1;
  d.info.scale_denom = static_cast<unsigned>(reduction);
  d.info.out_color_space = JCS_RGB;
  d.info.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&d.info);
  image.width = static_cast<int>(d.info.output_width);
  image.height = static_cast<int>(d.info.output_height);
  image.rows = {rows.start / reduction, std::min((rows.stop + reduction - 1) / reduction, image.height)};
  const size_t stride = static_cast<size_t>(image.width) * 3;
  uint8_t* pixels = image.memory.take(stride * (image.rows.size() + 1) + 64);
  uint8_t* spare = pixels + stride * image.rows.size();
  image.pixels = pixels;
  while (static_cast<int>(d.info.output_scanline) < image.rows.stop) {
    const int y = static_cast<int>(d.info.output_scanline) - image.rows.start;
    JSAMPROW row = y >= 0 ? pixels + stride * y : spare;
    jpeg_read_scanlines(&d.info, &row, 1);
  }
  if (d.info.output_scanline == d.info.output_height) jpeg_finish_decompress(&d.info);
  return true;
}

struct Encoder {
  jpeg_compress_struct info{};
  Trouble trouble{};
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  bool created = false;

  void open() {
    info.err = prepare(trouble);
    jpeg_create_compress(&info);
    created = true;
    jpeg_mem_dest(&info, &bytes, &size);
  }
  ~Encoder() {
    if (created) jpeg_destroy_compress(&info);
    std::free(bytes);
  }
};

bool is_own_marker(const jpeg_compress_struct& out, const jpeg_marker_struct* m) {
  // The encoder writes these two itself.
  if (out.write_JFIF_header && m->marker == JPEG_APP0 && m->data_length >= 5 && std::memcmp(m->data, "JFIF\0", 5) == 0) return true;
  return out.write_Adobe_marker && m->marker == JPEG_APP0 + 14 && m->data_length >= 5 && std::memcmp(m->data, "Adobe", 5) == 0;
}

bool read_coefficients(Decoder& d, Bytes data, jvirt_barray_ptr*& coefficients) {
  if (setjmp(d.trouble.escape)) return false;
  d.open(data);
  jpeg_save_markers(&d.info, JPEG_COM, 0xFFFF);
  for (int i = 0; i < 16; ++i) jpeg_save_markers(&d.info, JPEG_APP0 + i, 0xFFFF);
  jpeg_read_header(&d.info, TRUE);
  coefficients = jpeg_read_coefficients(&d.info);
  return true;
}

bool write_coefficients(Decoder& d, jvirt_barray_ptr* coefficients, Encoder& e, int interval) {
  if (setjmp(d.trouble.escape)) return false;
  if (setjmp(e.trouble.escape)) return false;
  e.open();
  jpeg_copy_critical_parameters(&d.info, &e.info);
  e.info.write_JFIF_header = d.info.saw_JFIF_marker;  // none is added
  e.info.optimize_coding = TRUE;
  e.info.arith_code = FALSE;
  e.info.restart_interval = static_cast<unsigned>(interval);
  e.info.restart_in_rows = 0;
  jpeg_write_coefficients(&e.info, coefficients);
  for (const jpeg_marker_struct* m = d.info.marker_list; m; m = m->next)
    if (!is_own_marker(e.info, m)) jpeg_write_marker(&e.info, m->marker, m->data, m->data_length);
  jpeg_finish_compress(&e.info);
  return true;
}

}  // namespace

void turbo_decode(Bytes data, int reduction, Range rows, TurboImage& image) {
  Decoder decoder;
  image.warning.clear();
  image.error.clear();
  if (!decode_rows(decoder, data, reduction, rows, image)) image.error = decoder.trouble.error;
  if (decoder.trouble.base.num_warnings) image.warning = decoder.trouble.warning;
}

struct TurboCoefficients::State {
  Decoder decoder;
  jvirt_barray_ptr* coefficients = nullptr;
};

TurboCoefficients::TurboCoefficients() : state_(std::make_unique<State>()) {}
TurboCoefficients::~TurboCoefficients() = default;

std::string TurboCoefficients::read(Bytes data) {
  const Trouble& trouble = state_->decoder.trouble;
  if (!read_coefficients(state_->decoder, data, state_->coefficients)) return trouble.error;
  for (int c = 0; c < components(); ++c)
    if (!state_->decoder.info.comp_info[c].quant_table) return "a component has no scan";  // libjpeg does not mind
  return trouble.base.num_warnings ? trouble.warning : "";
}

std::string TurboCoefficients::write(int interval, std::vector<uint8_t>& out) {
  Encoder encoder;
  if (!write_coefficients(state_->decoder, state_->coefficients, encoder, interval))
    return encoder.trouble.error[0] ? encoder.trouble.error : state_->decoder.trouble.error;
  out.assign(encoder.bytes, encoder.bytes + encoder.size);
  return "";
}

int TurboCoefficients::components() const { return state_->decoder.info.num_components; }
int TurboCoefficients::blocks_across(int c) const { return static_cast<int>(state_->decoder.info.comp_info[c].width_in_blocks); }
int TurboCoefficients::blocks_down(int c) const { return static_cast<int>(state_->decoder.info.comp_info[c].height_in_blocks); }
const uint16_t* TurboCoefficients::quantizer(int c) const { return state_->decoder.info.comp_info[c].quant_table->quantval; }

const int16_t* TurboCoefficients::row(int c, int block_row) {
  jpeg_decompress_struct& info = state_->decoder.info;
  // Everything is in memory, so nothing can fail here and rows stay where they are.
  return info.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&info), state_->coefficients[c], static_cast<JDIMENSION>(block_row), 1, FALSE)[0][0];
}

}  // namespace penstock
