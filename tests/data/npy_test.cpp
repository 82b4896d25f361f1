// .npy arrays: every layout NumPy writes, and files that lie about their size.
#include "kinflow/data/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "tests/data/helpers.h"

namespace kinflow {
namespace {

using Numbers = std::vector<double>;
using Shape = std::vector<std::int64_t>;

/// A file of the given version around a dict and raw data.
std::string npy(const std::string& dict, const std::string& data, int version = 1) {
  std::string bytes = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  const auto length = static_cast<std::uint32_t>(dict.size());
  bytes.append(reinterpret_cast<const char*>(&length), version == 1 ? 2 : 4);
  return bytes + dict + data;
}

template <typename Element>
std::string raw(const std::vector<Element>& elements) {
  return {reinterpret_cast<const char*>(elements.data()),
          elements.size() * sizeof(Element)};
}

std::string dict(const std::string& descr, const std::string& shape,
                 const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran +
         ", 'shape': " + shape + ", }   \n";
}

template <typename Element>
void expect_type(const std::string& descr) {
  const std::string data = raw<Element>({1, 2, 3});
  EXPECT_EQ(parse_npy(npy(dict(descr, "(3,)"), data), "a.npy").values,
            (Numbers{1, 2, 3}))
      << descr;
}

std::string npy_error(const std::string& bytes) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.npy", bytes);
  const std::string message = input_error_of([&] { parse_npy(bytes, path); });
  EXPECT_EQ(input_error_of([&] { read_npy(path); }), message);
  return message.substr(std::min(message.size(), path.size()));
}

TEST(Npy, EveryNumberTypeIsRead) {
  expect_type<float>("<f4");
  expect_type<double>("<f8");
  expect_type<std::int8_t>("|i1");
  expect_type<std::int16_t>("<i2");
  expect_type<std::int32_t>("<i4");
  expect_type<std::int64_t>("<i8");
  expect_type<std::uint8_t>("|u1");
  expect_type<std::uint16_t>("<u2");
  expect_type<std::uint32_t>("<u4");
  expect_type<std::uint64_t>("<u8");
  EXPECT_EQ(parse_npy(npy(dict("|b1", "(2,)"), std::string("\x01\x00", 2)), "").values,
            (Numbers{1, 0}));
  EXPECT_EQ(parse_npy(npy(dict("<i4", "(1,)"), raw<std::int32_t>({-5})), "").values,
            (Numbers{-5}));
}

TEST(Npy, AllVersionsAndFilesInMemoryAndOnDiskAgree) {
  const TemporaryFolder folder;
  const std::string data = raw<double>({1, 2, 3, 4});
  for (const int version : {1, 2, 3}) {
    const std::string bytes = npy(dict("<f8", "(2, 2)"), data, version);
    EXPECT_EQ(parse_npy(bytes, "").values, (Numbers{1, 2, 3, 4}));
    const NpyArray array = read_npy(folder.write("a.npy", bytes));
    EXPECT_EQ(array.values, (Numbers{1, 2, 3, 4}));
    EXPECT_EQ(array.shape, (Shape{2, 2}));
  }
  const std::string floats = npy(dict("<f4", "(2,)"), raw<float>({1, 2}));
  EXPECT_EQ(read_npy(folder.write("f.npy", floats)).values, (Numbers{1, 2}));
}

TEST(Npy, FortranOrderBecomesRowMajor) {
  const std::string data = raw<double>({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(parse_npy(npy(dict("<f8", "(2, 3)", "True"), data), "").values,
            (Numbers{1, 3, 5, 2, 4, 6}));
  // Element (i, j, k) of a 2 x 3 x 2 Fortran array is number i + 2 j + 6 k.
  Numbers counted(12);
  std::iota(counted.begin(), counted.end(), 0.0);
  EXPECT_EQ(parse_npy(npy(dict("<f8", "(2, 3, 2)", "True"), raw(counted)), "").values,
            (Numbers{0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11}));
}

TEST(Npy, WhatIsWrittenReadsBack) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.npy");
  const std::pair<Shape, Numbers> cases[] = {
      {{}, {7}}, {{3}, {1, 2, 3}}, {{2, 2}, {1, 2, 3, 4}}, {{0, 5}, {}}};
  for (const auto& [shape, values] : cases) {
    write_npy(path, shape, values);
    const NpyArray array = read_npy(path);
    EXPECT_EQ(array.shape, shape);
    EXPECT_EQ(array.values, values);
    EXPECT_EQ(content_of(path).size() % 64, values.size() * 8 % 64);
  }
}

TEST(Npy, FilesOfTheWrongLengthAreRefused) {
  const std::string prefix = ": not a usable .npy file: ";
  EXPECT_EQ(npy_error(npy(dict("<f8", "(3,)"), raw<double>({1, 2}))),
            prefix + "expected 24 bytes of data for its shape, found 16");
  EXPECT_EQ(npy_error(npy(dict("<f8", "(1,)"), raw<double>({1, 2}))),
            prefix + "expected 8 bytes of data for its shape, found 16");
  EXPECT_EQ(
      npy_error(npy(dict("<f8", "(4611686018427387904, 4611686018427387904)"), "")),
      prefix + "expected more than 2^64 bytes of data for its shape, found 0");
  EXPECT_EQ(npy_error(npy(dict("<f8", "(1000000000000,)"), "")),
            prefix + "expected 8000000000000 bytes of data for its shape, found 0");
  EXPECT_EQ(npy_error(npy(dict("<f8", "(1,)"), "").substr(0, 40)),
            prefix + "the header is longer than the file");
  EXPECT_EQ(npy_error(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)),
            prefix + "the header is longer than the file");
}

TEST(Npy, HeadersThatAreNotUnderstoodAreRefused) {
  const std::string prefix = ": not a usable .npy file: ";
  EXPECT_EQ(npy_error("hello"), ": not a .npy file");
  EXPECT_EQ(npy_error(""), ": not a .npy file");
  EXPECT_EQ(npy_error(std::string("\x93NUMPY\x09\x00\x00\x00\x00\x00", 12)),
            prefix + "expected version 1 to 3");
  EXPECT_EQ(npy_error(npy(dict(">f8", "(1,)"), raw<double>({1}))),
            prefix +
                "expected float32, float64, int8 to int64, uint8 to uint64 or bool, "
                "little-endian, found dtype '>f8'");
  EXPECT_EQ(
      npy_error(npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}",
                    raw<double>({1}))),
      prefix + "expected quoted text in the header (a structured dtype has none)");
  EXPECT_EQ(npy_error(npy("{'descr': '<f8', 'shape': (1,)}", raw<double>({1}))),
            prefix + "the header lacks descr, fortran_order or shape");
  EXPECT_EQ(npy_error(npy("{'descr': '<f8', 'descr': '<f8'}", "")),
            prefix + "unexpected key 'descr' in the header");
  EXPECT_EQ(npy_error(npy(dict("<f8", "(-1,)"), "")), prefix + "malformed shape");
  EXPECT_EQ(npy_error(npy(dict("<f8", "(99999999999999999999,)"), "")),
            prefix + "malformed shape");
  EXPECT_EQ(npy_error(npy(dict("<f8", "(1,)", "Maybe"), raw<double>({1}))),
            prefix + "expected True or False for fortran_order");
  EXPECT_EQ(npy_error(npy("", "")), prefix + "expected '{' in the header");
  EXPECT_EQ(npy_error(npy("{", "")), prefix +
                                         "expected quoted text in the header (a "
                                         "structured dtype has none)");
}

TEST(Npy, IntegersThatFloat64CannotHoldAreRefused) {
  const std::string expected = " cannot be held exactly as float64";
  EXPECT_EQ(npy_error(npy(dict("<i8", "(1,)"), raw<std::int64_t>({(1LL << 53) + 1}))),
            ": the integer 9007199254740993" + expected);
  EXPECT_EQ(npy_error(npy(dict("<i8", "(1,)"), raw<std::int64_t>({INT64_MAX}))),
            ": the integer 9223372036854775807" + expected);
  EXPECT_EQ(npy_error(npy(dict("<u8", "(1,)"), raw<std::uint64_t>({UINT64_MAX}))),
            ": the integer 18446744073709551615" + expected);
  EXPECT_EQ(
      parse_npy(npy(dict("<i8", "(1,)"), raw<std::int64_t>({1LL << 60})), "").values,
      (Numbers{0x1.0p60}));
}

TEST(Npy, PartsAlongTheFirstAxisAreThoseOfTheWhole) {
  const std::string data =
      raw<std::int16_t>({0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                         12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
  for (const std::string order : {"False", "True"}) {
    for (const std::string shape : {"(24,)", "(4, 6)", "(4, 3, 2)"}) {
      const std::string bytes = npy(dict("<i2", shape, order), data);
      const Numbers whole = parse_npy(bytes, "a.npy").values;
      const NpyReader reader(bytes, "a.npy");
      Numbers parts;
      for (std::int64_t first = 0; first < reader.rows(); first += 3) {
        const auto part =
            reader.read(first, std::min<std::int64_t>(3, reader.rows() - first));
        parts.insert(parts.end(), part.begin(), part.end());
      }
      EXPECT_EQ(parts, whole) << shape << " " << order;
    }
  }
}

}  // namespace
}  // namespace kinflow
