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
  image.pixels.resize(stride * (image.rows.size() + 1) + 64);
  uint8_t* spare = image.pixels.data() + stride * image.rows.size();
  while (static_cast<int>(d.info.output_scanline) < image.rows.stop) {
    const int y = static_cast<int>(d.info.output_scanline) - image.rows.start;
    JSAMPROW row = y >= 0 ? image.pixels.data() + stride * y : spare;
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

bool transcode(Decoder& d, Encoder& e, Bytes data, int interval) {
  if (setjmp(d.trouble.escape)) return false;
  if (setjmp(e.trouble.escape)) return false;
  d.open(data);
  e.open();
  jpeg_save_markers(&d.info, JPEG_COM, 0xFFFF);
  for (int i = 0; i < 16; ++i) jpeg_save_markers(&d.info, JPEG_APP0 + i, 0xFFFF);
  jpeg_read_header(&d.info, TRUE);
  jvirt_barray_ptr* coefficients = jpeg_read_coefficients(&d.info);
  if (d.info.err->num_warnings) return true;
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
  jpeg_finish_decompress(&d.info);
  return true;
}

bool read_coefficients(Decoder& d, Bytes data, jvirt_barray_ptr*& coefficients) {
  if (setjmp(d.trouble.escape)) return false;
  d.open(data);
  jpeg_read_header(&d.info, TRUE);
  coefficients = jpeg_read_coefficients(&d.info);
  return true;
}

const char* difference(Decoder& a, jvirt_barray_ptr* ca, Decoder& b, jvirt_barray_ptr* cb) {
  if (a.info.num_components != b.info.num_components || a.info.image_width != b.info.image_width ||
      a.info.image_height != b.info.image_height || a.info.jpeg_color_space != b.info.jpeg_color_space)
    return "the frame headers differ";
  for (int c = 0; c < a.info.num_components; ++c) {
    const auto &x = a.info.comp_info[c], &y = b.info.comp_info[c];
    if (x.h_samp_factor != y.h_samp_factor || x.v_samp_factor != y.v_samp_factor) return "the sampling differs";
    if (!x.quant_table || !y.quant_table || std::memcmp(x.quant_table->quantval, y.quant_table->quantval, sizeof x.quant_table->quantval))
      return "the quantisation tables differ";
    for (JDIMENSION row = 0; row < x.height_in_blocks; ++row) {
      JBLOCKARRAY ra = a.info.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&a.info), ca[c], row, 1, FALSE);
      JBLOCKARRAY rb = b.info.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&b.info), cb[c], row, 1, FALSE);
      if (std::memcmp(ra[0], rb[0], sizeof(JBLOCK) * x.width_in_blocks)) return "coefficients differ";
    }
  }
  return nullptr;
}

}  // namespace

void turbo_decode(Bytes data, int reduction, Range rows, TurboImage& image) {
  Decoder decoder;
  image.warning.clear();
  image.error.clear();
  if (!decode_rows(decoder, data, reduction, rows, image)) image.error = decoder.trouble.error;
  if (decoder.trouble.base.num_warnings) image.warning = decoder.trouble.warning;
}

std::string turbo_transcode(Bytes data, int interval, std::vector<uint8_t>& out) {
  Decoder decoder;
  Encoder encoder;
  if (!transcode(decoder, encoder, data, interval))
    return decoder.trouble.error[0] ? decoder.trouble.error : encoder.trouble.error;
  if (decoder.trouble.base.num_warnings) return decoder.trouble.warning;
  out.assign(encoder.bytes, encoder.bytes + encoder.size);
  return "";
}

std::string turbo_compare(Bytes one, Bytes other) {
  Decoder a, b;
  jvirt_barray_ptr *ca = nullptr, *cb = nullptr;
  if (!read_coefficients(a, one, ca)) return a.trouble.error;
  if (!read_coefficients(b, other, cb)) return b.trouble.error;
  if (a.trouble.base.num_warnings || b.trouble.base.num_warnings) return "libjpeg-turbo warned about the data";
  const char* what = difference(a, ca, b, cb);
  return what ? what : "";
}

}  // namespace penstock
