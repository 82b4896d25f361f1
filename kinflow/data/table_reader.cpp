// Pieces of text and of arrays, with the checks of a table's structure.
#include "kinflow/data/table_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <stdexcept>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/input_file.h"
#include "kinflow/data/cells.h"
#include "kinflow/data/npy.h"
#include "kinflow/data/text_lines.h"
#include "kinflow/data/unzipped_bytes.h"

namespace kinflow {

class TableReader::Source {
 public:
  virtual ~Source() = default;
  virtual std::optional<Table> next(std::int64_t most_rows) = 0;
  virtual std::uint64_t bytes_done() const = 0;
  std::uint64_t bytes_in_all() const { return bytes_in_all_; }
  const Table& header() const { return header_; }

 protected:
  explicit Source(const std::string& source, std::uint64_t bytes_in_all)
      : bytes_in_all_(bytes_in_all) {
    header_.source_ = source;
  }

  /// A piece that starts after the rows given so far.
  Table empty_piece() const {
    Table piece = header_;
    piece.first_row_ = rows_done_;
    return piece;
  }

  Table header_;
  std::int64_t rows_done_ = 0;
  std::uint64_t bytes_in_all_ = 0;
};

/// Text: a buffer that holds at least one row.
class TextTableSource final : public TableReader::Source {
 public:
  TextTableSource(UnzippedBytes bytes, const std::string& source, char delimiter,
                  std::uint64_t bytes_in_all, const TableReadSizes& sizes)
      : Source(source, bytes_in_all), bytes_(std::move(bytes)), sizes_(sizes) {
    header_.delimiter_ = delimiter;
    while (buffer_.size() < kByteOrderMark.size() && !at_end_) fill();
    if (buffer_.starts_with(kByteOrderMark)) position_ = kByteOrderMark.size();
    if (!has_row()) throw InputError(source + ": the file is empty");
    read_header();
  }

  std::optional<Table> next(std::int64_t most_rows) override {
    drop_given_rows();
    Table piece = empty_piece();
    while (piece.rows_ < most_rows && has_row()) {
      const Row row = find_row();
      if (row.cells != header_.names_.size()) {
        const bool has_row_names =
            row.cells == header_.names_.size() + 1 && rows_done_ + piece.rows_ == 0;
        fail(position_,
             fmt::format("expected {} as in the header, found {}{}",
                         counted(header_.names_.size(), "cell"), row.cells,
                         has_row_names ? "; if the first numbers the row, write the "
                                         "table without it (R: row.names=FALSE)"
                                       : ""));
      }
      piece.row_starts_.push_back(position_);
      ++piece.rows_;
      position_ = row.next;
    }
    if (piece.rows_ == 0) return std::nullopt;
    rows_done_ += piece.rows_;
    piece.first_line_ = first_line_;
    if (at_end_ && position_ == buffer_.size()) {
      piece.bytes_ = std::move(buffer_);
      bytes_dropped_ += position_;
      buffer_.clear();
      position_ = 0;
    } else {
      piece.bytes_ = buffer_.substr(0, position_);
    }
    return piece;
  }

  std::uint64_t bytes_done() const override {
    const bool is_done = at_end_ && position_ == buffer_.size();
    return is_done || bytes_.is_zipped() ? bytes_.bytes_taken()
                                         : bytes_dropped_ + position_;
  }

 private:
  /// A table may end in these.
  static constexpr std::string_view kBlanks = " \r\n";

  struct Row {
    std::size_t cells = 0;
    std::size_t next = 0;  // where the next row starts
  };

  [[noreturn]] void fail(std::size_t position, const std::string& what) const {
    const auto end = buffer_.begin() + static_cast<std::ptrdiff_t>(position);
    const auto line = first_line_ + std::count(buffer_.begin(), end, '\n');
    throw InputError(fmt::format("{}:{}: {}", header_.source_, line, what));
  }

  [[noreturn]] void fail_for_nul(std::size_t position) const {
    const bool is_utf16 =
        buffer_.starts_with("\xff\xfe") || buffer_.starts_with("\xfe\xff");
    fail(position, is_utf16 ? "expected UTF-8 text, found UTF-16: save it as UTF-8"
                            : "not a table of text: found a NUL byte");
  }

  /// Makes the buffer start at the next row.
  void drop_given_rows() {
    const auto end = buffer_.begin() + static_cast<std::ptrdiff_t>(position_);
    first_line_ += std::count(buffer_.begin(), end, '\n');
    bytes_dropped_ += position_;
    buffer_.erase(0, position_);
    position_ = 0;
    content_ = std::string::npos;
  }

  /// Reads on. At the end of the file the blanks there go away.
  void fill() {
    const std::size_t known = buffer_.size();
    if (known - position_ > sizes_.longest_row_bytes) {
      fail(position_, fmt::format("expected a row of at most {} bytes, found a longer "
                                  "one: is a quote not closed?",
                                  sizes_.longest_row_bytes));
    }
    // A row that does not fit is read again from its start: twice as much each time.
    const std::size_t wanted = std::max(sizes_.bytes_at_once, known - position_);
    try {
      buffer_.resize(known + wanted);
    } catch (const std::bad_alloc&) {
      throw InputError(header_.source_ + ": too large for the memory of this machine");
    }
    const std::size_t got = bytes_.read(buffer_.data() + known, wanted);
    buffer_.resize(known + got);
    const std::size_t nul = buffer_.find('\0', known);
    if (nul != std::string::npos) fail_for_nul(nul);
    if (got == wanted) return;
    at_end_ = true;
    const std::size_t last = buffer_.find_last_not_of(kBlanks);
    buffer_.resize(std::max(position_, last == std::string::npos ? 0 : last + 1));
  }

  /// True where a row starts at the current position: where more than blanks is left.
  bool has_row() {
    for (;; fill()) {
      if (content_ == std::string::npos || content_ < position_) {
        content_ = buffer_.find_first_not_of(kBlanks, position_);
      }
      if (content_ != std::string::npos) return true;
      if (at_end_) return false;
    }
  }

  /// The row at the current position, which is read to its end.
  Row find_row() {
    for (;; fill()) {
      const std::size_t newline = buffer_.find('\n', position_);
      if (newline == std::string::npos && !at_end_) continue;
      const std::size_t end = std::min(newline, buffer_.size());
      const auto line = std::string_view(buffer_).substr(position_, end - position_);
      if (line.find('"') == std::string_view::npos) {
        const auto delimiters =
            std::count(line.begin(), line.end(), header_.delimiter_);
        return {.cells = 1 + static_cast<std::size_t>(delimiters),
                .next = std::min(end + 1, buffer_.size())};
      }
      if (const auto row = find_row_with_quotes()) return *row;
    }
  }

  /// Nothing where the row goes on after the buffer.
  std::optional<Row> find_row_with_quotes() const {
    Row row;
    CellReader reader(buffer_, position_, header_.delimiter_);
    try {
      do {
        reader.next();
        ++row.cells;
      } while (!reader.at_end_of_row());
    } catch (const QuoteError& error) {
      if (error.is_open && !at_end_) return std::nullopt;
      fail(error.position, "expected a table, found " + error.message);
    }
    row.next = reader.position();
    if (!at_end_ && buffer_[row.next - 1] != '\n') return std::nullopt;
    return row;
  }

  void read_header() {
    const std::size_t start = position_;
    const Row row = find_row();
    CellReader reader(buffer_, start, header_.delimiter_);
    auto& names = header_.names_;
    std::unordered_set<std::string> seen;
    bool some_text = false, count_up = true;
    double number_before = 0;
    do {
      const std::string name(reader.next());
      check_name(start, name);
      if (!seen.insert(name).second) {
        fail(start, "two columns have the name " + in_quotes(name));
      }
      double number = 0;
      const CellKind kind = read_number(name, number);
      some_text |= kind == CellKind::text || kind == CellKind::infinite;
      count_up = count_up && kind == CellKind::number && number == std::floor(number) &&
                 (names.empty() || number == number_before + 1);
      number_before = number;
      names.push_back(name);
    } while (!reader.at_end_of_row());
    // One number follows from nothing, and is a name where counting begins.
    if (names.size() == 1 && number_before > 1) count_up = false;
    if (!some_text && !count_up) {
      fail(start,
           "expected the names of the columns, found numbers; names may be numbers "
           "that count up, such as 0,1,2");
    }
    if (names.size() == 1) check_separator(start, names[0]);
    position_ = row.next;
    if (!has_row()) fail(start, "expected rows after the header, found none");
  }

  void check_name(std::size_t start, const std::string& name) const {
    if (name.empty()) {
      const bool is_first = header_.names_.empty();
      fail(start, fmt::format("column {} has no name{}", header_.names_.size() + 1,
                              is_first ? "; if it numbers the rows, write the table "
                                         "without it (pandas: index=False, R: "
                                         "row.names=FALSE)"
                                       : ""));
    }
    if (is_printable_utf8(name)) return;
    if (name.find('\t') != name.npos) {
      fail(start, "expected columns separated by commas, found tabs: " +
                      in_quotes(name) + "; a name that ends in .tsv says so");
    }
    if (name.find('\r') != name.npos) {
      fail(start, "expected lines that end in LF or CR LF, found CR alone in " +
                      in_quotes(name));
    }
    fail(start,
         "not a table of UTF-8 text: found " + in_quotes(name) + " in the header");
  }

  /// A single name with separators of another kind is most likely several.
  void check_separator(std::size_t start, const std::string& name) const {
    const bool by_commas = header_.delimiter_ == ',';
    const bool has_semicolon = name.find(';') != name.npos;
    if (!has_semicolon && (by_commas || name.find(',') == name.npos)) return;
    fail(start, fmt::format("expected columns separated by {}, found {}: {}",
                            by_commas ? "commas" : "tabs",
                            has_semicolon ? "semicolons" : "commas", in_quotes(name)));
  }

  UnzippedBytes bytes_;
  TableReadSizes sizes_;
  std::string buffer_;
  std::size_t position_ = 0;  // of the row after those given, in the buffer
  std::size_t content_ = std::string::npos;  // of something that is no blank
  std::int64_t first_line_ = 1;              // of the buffer
  std::uint64_t bytes_dropped_ = 0;          // before the buffer
  bool at_end_ = false;                      // of the file; the buffer may hold more
};

/// The rows of an .npy array, with the columns x1 .. xp.
class ArrayTableSource final : public TableReader::Source {
 public:
  ArrayTableSource(NpyReader reader, const std::string& source)
      : Source(source, bytes_of(reader, reader.layout().count)),
        reader_(std::move(reader)) {
    const auto& shape = reader_.layout().shape;
    if (shape.size() != 1 && shape.size() != 2) {
      throw InputError(
          fmt::format("{}: expected an array of rows and columns, found one "
                      "of {} dimensions",
                      source, shape.size()));
    }
    if (reader_.layout().count == 0) throw InputError(source + ": the array is empty");
    const std::int64_t columns = shape.size() == 2 ? shape[1] : 1;
    for (std::int64_t i = 1; i <= columns; ++i) {
      header_.names_.push_back(fmt::format("x{}", i));
    }
  }

  std::optional<Table> next(std::int64_t most_rows) override {
    const std::int64_t rows = std::min(most_rows, reader_.rows() - rows_done_);
    if (rows == 0) return std::nullopt;
    Table piece = empty_piece();
    piece.rows_ = rows;
    piece.numbers_ = reader_.read(rows_done_, rows);
    rows_done_ += rows;
    return piece;
  }

  std::uint64_t bytes_done() const override {
    return bytes_of(reader_,
                    header_.names_.size() * static_cast<std::uint64_t>(rows_done_));
  }

 private:
  static std::uint64_t bytes_of(const NpyReader& reader, std::uint64_t elements) {
    return reader.layout().data_offset + reader.layout().element_bytes * elements;
  }

  NpyReader reader_;
};

namespace {

/// Of text that was gzipped.
constexpr std::size_t kLikelyExpansion = 4;

char delimiter_of(TableFormat format) {
  return format == TableFormat::csv ? ',' : '\t';
}

std::unique_ptr<TableReader::Source> open_file(const std::string& path,
                                               TableReadSizes sizes) {
  const TableFormat format = table_format(path);
  if (format == TableFormat::npy) {
    return std::make_unique<ArrayTableSource>(NpyReader(path), path);
  }
  const auto file = std::make_shared<InputFile>(path);
  UnzippedBytes bytes(
      [file](char* to, std::size_t count) { return file->read(to, count); }, path);
  // Files of the kernel have no size.
  const std::uint64_t likely_bytes =
      std::max<std::uint64_t>((file->is_regular() ? file->size() : 0) *
                                  (bytes.is_zipped() ? kLikelyExpansion : 1),
                              1 << 16);
  // One byte more than the file, so that its end shows in one round.
  sizes.bytes_at_once = std::min<std::uint64_t>(sizes.bytes_at_once, likely_bytes + 1);
  return std::make_unique<TextTableSource>(std::move(bytes), path, delimiter_of(format),
                                           file->size(), sizes);
}

std::unique_ptr<TableReader::Source> open_bytes(std::string_view bytes,
                                                const std::string& source,
                                                TableFormat format,
                                                TableReadSizes sizes) {
  if (format == TableFormat::npy) {
    return std::make_unique<ArrayTableSource>(NpyReader(bytes, source), source);
  }
  const auto read = [left = bytes](char* to, std::size_t count) mutable {
    const std::size_t part = std::min(count, left.size());
    std::memcpy(to, left.data(), part);
    left.remove_prefix(part);
    return part;
  };
  UnzippedBytes unzipped(read, source);
  const std::size_t likely_bytes =
      bytes.size() * (unzipped.is_zipped() ? kLikelyExpansion : 1);
  sizes.bytes_at_once = std::min(sizes.bytes_at_once, likely_bytes + 1);
  return std::make_unique<TextTableSource>(std::move(unzipped), source,
                                           delimiter_of(format), bytes.size(), sizes);
}

}  // namespace

TableReader::TableReader(const std::string& path, const TableReadSizes& sizes)
    : source_(open_file(path, sizes)) {}

TableReader::TableReader(std::string_view bytes, const std::string& source,
                         TableFormat format, const TableReadSizes& sizes)
    : source_(open_bytes(bytes, source, format, sizes)) {}

TableReader::~TableReader() = default;

const Table& TableReader::header() const { return source_->header(); }

std::optional<Table> TableReader::next(std::int64_t most_rows) {
  return source_->next(most_rows);
}

std::uint64_t TableReader::bytes_done() const { return source_->bytes_done(); }

std::uint64_t TableReader::bytes_in_all() const { return source_->bytes_in_all(); }

}  // namespace kinflow
