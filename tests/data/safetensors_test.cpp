// safetensors: round trips, and hostile files that must fail without harm.
#include "kinflow/data/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/data/helpers.h"

namespace kinflow {
namespace {

template <typename Element>
SafeTensor tensor(const std::string& name, const std::string& dtype,
                  const std::vector<std::int64_t>& shape,
                  const std::vector<Element>& elements) {
  return {.name = name,
          .dtype = dtype,
          .shape = shape,
          .data = std::as_bytes(std::span(elements))};
}

std::string file_of(const std::string& header, std::size_t data_bytes,
                    std::uint64_t claimed_header_bytes) {
  std::string bytes(reinterpret_cast<const char*>(&claimed_header_bytes), 8);
  return bytes + header + std::string(data_bytes, 'd');
}

/// What is said against a file with this header and as many bytes of data.
std::string header_error(const std::string& header, std::size_t data_bytes = 0) {
  const TemporaryFolder folder;
  const std::string bytes = file_of(header, data_bytes, header.size());
  const std::string path = folder.write("m.safetensors", bytes);
  const std::string message = input_error_of([&] { parse_safetensors(bytes, path); });
  EXPECT_EQ(input_error_of([&] { read_safetensors(path); }), message);
  const std::string prefix = path + ": not a usable safetensors file: ";
  EXPECT_TRUE(message.starts_with(prefix)) << message;
  return message.substr(std::min(message.size(), prefix.size()));
}

/// The same for a header with one tensor 't' of the given description.
std::string tensor_error(const std::string& description, std::size_t data_bytes = 0) {
  const std::string message = header_error("{\"t\":" + description + "}", data_bytes);
  const std::string prefix = "tensor 't': ";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

TEST(Safetensors, WhatIsWrittenReadsBack) {
  const TemporaryFolder folder;
  const std::string path = folder.path("m.safetensors");
  const std::vector<float> floats = {1.5f, -2, 3, 4, 5, 6};
  const std::vector<std::uint8_t> bytes = {1, 2, 3};
  const std::vector<std::int64_t> scalar = {-9};
  const std::vector<double> none;
  const std::map<std::string, std::string> metadata = {{"format", "kinflow"},
                                                       {"text", "\"quotes\"\nü"}};
  write_safetensors(
      path, metadata,
      {tensor("z.weight", "F32", {2, 3}, floats), tensor("bytes", "U8", {3}, bytes),
       tensor("scalar", "I64", {}, scalar), tensor("none", "F64", {0, 4}, none)});
  const SafeTensors read = read_safetensors(path);
  EXPECT_EQ(read.metadata, metadata);
  ASSERT_EQ(read.tensors.size(), 4u);
  EXPECT_EQ(read.tensors[0].name, "z.weight");
  EXPECT_EQ(read.tensors[0].dtype, "F32");
  EXPECT_EQ(read.tensors[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(read.tensors[0].data.data(), floats.data(), 24), 0);
  EXPECT_EQ(read.tensors[1].data.size(), 3u);
  EXPECT_EQ(read.tensors[2].name, "scalar");
  ASSERT_EQ(read.tensors[2].data.size(), 8u);
  EXPECT_EQ(std::memcmp(read.tensors[2].data.data(), scalar.data(), 8), 0);
  EXPECT_EQ(read.tensors[3].data.size(), 0u);
  const SafeTensors copy = read;
  EXPECT_EQ(copy.tensors[0].data.data(), read.storage->data());
}

TEST(Safetensors, TheHeaderIsPaddedToEightBytes) {
  const TemporaryFolder folder;
  const std::string path = folder.path("m.safetensors");
  for (const std::string name : {"a", "ab", "abc", "abcdefgh"}) {
    const std::vector<double> values = {1};
    write_safetensors(path, {}, {tensor(name, "F64", {1}, values)});
    const std::string bytes = content_of(path);
    EXPECT_EQ(bytes.size() % 8, 0u);
    EXPECT_EQ(bytes[8], '{');
    EXPECT_NO_THROW(read_safetensors(path));
  }
  write_safetensors(path, {}, {});
  EXPECT_TRUE(read_safetensors(path).tensors.empty());
}

TEST(Safetensors, TensorsThatContradictThemselvesAreNotWritten) {
  const TemporaryFolder folder;
  const std::string path = folder.path("m.safetensors");
  const std::vector<float> values = {1, 2};
  const SafeTensor good = tensor("a", "F32", {2}, values);
  for (const SafeTensor& bad :
       {tensor("b", "F32", {3}, values), tensor("b", "F99", {2}, values),
        tensor("b", "F32", {-2}, values), tensor("a", "F32", {2}, values),
        tensor("__metadata__", "F32", {2}, values)}) {
    EXPECT_THROW(write_safetensors(path, {}, {good, bad}), std::logic_error);
  }
  EXPECT_TRUE(folder.files().empty());
}

TEST(Safetensors, TheDataDecidesTheOrder) {
  const std::string header =
      R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},)"
      R"("a":{"data_offsets":[0,1],"shape":[1],"dtype":"U8"}}  )";
  const SafeTensors read = parse_safetensors(file_of(header, 3, header.size()), "m");
  ASSERT_EQ(read.tensors.size(), 2u);
  EXPECT_EQ(read.tensors[0].name, "a");
  EXPECT_EQ(read.tensors[1].name, "b");
}

TEST(Safetensors, WrongHeaderLengthsAreRefused) {
  const TemporaryFolder folder;
  const auto length_error = [&](const std::string& bytes) {
    const std::string path = folder.write("m", bytes);
    const std::string message = input_error_of([&] { read_safetensors(path); });
    EXPECT_EQ(input_error_of([&] { parse_safetensors(bytes, path); }), message);
    return message.substr(path.size());
  };
  const std::string prefix = ": not a usable safetensors file: ";
  EXPECT_EQ(length_error(""), prefix + "the file is too short");
  EXPECT_EQ(length_error("1234567"), prefix + "the file is too short");
  EXPECT_EQ(length_error(file_of("{}", 0, 3)),
            prefix + "expected a header of at most 2 bytes, found a length of 3");
  EXPECT_EQ(length_error(file_of("{}", 0, UINT64_MAX)),
            prefix +
                "expected a header of at most 2 bytes, found a length of "
                "18446744073709551615");
  EXPECT_EQ(length_error(file_of("", 0, 0)),
            prefix + "the header is no JSON (at its byte 1)");
}

TEST(Safetensors, HeadersAboveTheLimitAreRefusedUnread) {
  const TemporaryFolder folder;
  const std::string path = folder.write("m", file_of("{}", 0, 100'000'001));
  std::filesystem::resize_file(path, 200'000'000);
  EXPECT_EQ(input_error_of([&] { read_safetensors(path); }),
            path +
                ": not a usable safetensors file: expected a header of at most "
                "100000000 bytes, found a length of 100000001");
}

TEST(Safetensors, HeadersThatAreNoJsonObjectAreRefused) {
  EXPECT_EQ(header_error("hello"), "the header is no JSON (at its byte 1)");
  EXPECT_EQ(header_error("{\"a\":"), "the header is no JSON (at its byte 6)");
  EXPECT_EQ(header_error("{} {}"), "the header is no JSON (at its byte 4)");
  EXPECT_EQ(header_error("{\"\xff\":1}"), "the header is no JSON (at its byte 3)");
  EXPECT_EQ(header_error("[]"), "expected a JSON object in the header, found a list");
  EXPECT_EQ(header_error("7"), "expected a JSON object in the header, found a number");
  EXPECT_EQ(header_error("null"), "expected a JSON object in the header, found null");
}

TEST(Safetensors, DeepNestingIsRefused) {
  EXPECT_EQ(header_error("{\"a\":" + std::string(1'000'000, '[')),
            "entry 'a': unexpected a list");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"shape\":";
  EXPECT_EQ(header_error(objects), "tensor 'shape': unexpected an object in 'shape'");
  EXPECT_EQ(tensor_error("{\"shape\":[[1]]}"), "unexpected a list in 'shape'");
  EXPECT_EQ(tensor_error("{\"shape\":[{}]}"), "unexpected an object in 'shape'");
}

TEST(Safetensors, RepeatedKeysAreRefused) {
  const std::string one = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_EQ(header_error("{\"a\":" + one + ",\"a\":" + one + "}"),
            "two entries have the name 'a'");
  EXPECT_EQ(header_error(R"({"__metadata__":{},"__metadata__":{}})"),
            "two entries have the name '__metadata__'");
  EXPECT_EQ(header_error(R"({"__metadata__":{"a":"1","a":"2"}})"),
            "two metadata entries have the name 'a'");
  EXPECT_EQ(tensor_error(R"({"dtype":"U8","dtype":"U8"})"), "dtype is given twice");
}

TEST(Safetensors, MissingAndUnknownKeysAreRefused) {
  const std::string expected = "expected dtype, shape and data_offsets";
  EXPECT_EQ(tensor_error("{}"), expected);
  EXPECT_EQ(tensor_error(R"({"dtype":"U8","shape":[0]})"), expected);
  EXPECT_EQ(tensor_error(R"({"shape":[0],"data_offsets":[0,0]})"), expected);
  EXPECT_EQ(tensor_error(R"({"stride":[1]})"), "unknown key 'stride'");
}

TEST(Safetensors, WrongTypesAreRefused) {
  EXPECT_EQ(tensor_error("1"), "entry 't': unexpected a number");
  EXPECT_EQ(tensor_error(R"({"dtype":1})"), "unexpected a number in 'dtype'");
  EXPECT_EQ(tensor_error(R"({"dtype":["U8"]})"), "unexpected a list in 'dtype'");
  EXPECT_EQ(tensor_error(R"({"shape":"x"})"), "unexpected text in 'shape'");
  EXPECT_EQ(tensor_error(R"({"shape":["x"]})"), "unexpected text in 'shape'");
  EXPECT_EQ(tensor_error(R"({"shape":[-1]})"),
            "unexpected a negative number in 'shape'");
  EXPECT_EQ(tensor_error(R"({"shape":[1.5]})"),
            "unexpected a number that is no 64-bit integer in 'shape'");
  EXPECT_EQ(tensor_error(R"({"shape":[99999999999999999999]})"),
            "unexpected a number that is no 64-bit integer in 'shape'");
  EXPECT_EQ(tensor_error(R"({"shape":[true]})"), "unexpected a boolean in 'shape'");
  EXPECT_EQ(tensor_error(R"({"shape":null})"), "unexpected null in 'shape'");
  EXPECT_EQ(header_error(R"({"__metadata__":{"a":1}})"),
            "metadata: unexpected a number in 'a'");
  EXPECT_EQ(header_error(R"({"__metadata__":{"a":{}}})"),
            "metadata: unexpected an object in 'a'");
  EXPECT_EQ(header_error(R"({"__metadata__":"x"})"),
            "entry '__metadata__': unexpected text");
  EXPECT_EQ(tensor_error(R"({"dtype":"Q4","shape":[0],"data_offsets":[0,0]})"),
            "unknown dtype 'Q4'");
}

TEST(Safetensors, OffsetsThatDisagreeWithTheShapeAreRefused) {
  EXPECT_EQ(tensor_error(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 4),
            "expected 8 bytes for its shape, found data_offsets 0 to 4");
  EXPECT_EQ(tensor_error(R"({"dtype":"U8","shape":[2],"data_offsets":[2,0]})", 2),
            "expected 2 bytes for its shape, found data_offsets 2 to 0");
  EXPECT_EQ(tensor_error(R"({"dtype":"U8","shape":[2],"data_offsets":[0]})", 2),
            "expected data_offsets of two numbers");
  EXPECT_EQ(tensor_error(R"({"dtype":"U8","shape":[2],"data_offsets":[0,1,2]})", 2),
            "expected data_offsets of two numbers");
  std::string many = "[1";
  for (int i = 0; i < 100; ++i) many += ",1";
  EXPECT_EQ(
      tensor_error(R"({"dtype":"U8","data_offsets":[0,1],"shape":)" + many + "]}", 1),
      "unexpected a long list in 'shape'");
}

TEST(Safetensors, HugeShapesAreRefused) {
  const std::string too_large = "the shape is too large";
  EXPECT_EQ(
      tensor_error(
          R"({"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]})"),
      too_large);
  EXPECT_EQ(
      tensor_error(
          R"({"dtype":"U8","shape":[0,18446744073709551615],"data_offsets":[0,0]})"),
      too_large);
  EXPECT_EQ(
      tensor_error(
          R"({"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]})"),
      too_large);
  // A size that is possible but not there.
  EXPECT_EQ(
      header_error(
          R"({"t":{"dtype":"U8","shape":[1099511627776],"data_offsets":[0,1099511627776]}})",
          8),
      "expected 1099511627776 bytes of data, found 8");
}

TEST(Safetensors, OverlapsAndHolesAreRefused) {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + first +
           R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + second + "}}";
  };
  EXPECT_EQ(header_error(two("[0,2]", "[1,3]"), 3),
            "tensor 'b': expected its data at byte 2, found 1");
  EXPECT_EQ(header_error(two("[0,2]", "[0,2]"), 2),
            "tensor 'b': expected its data at byte 2, found 0");
  EXPECT_EQ(header_error(two("[0,2]", "[3,5]"), 5),
            "tensor 'b': expected its data at byte 2, found 3");
  EXPECT_EQ(header_error(two("[1,3]", "[3,5]"), 5),
            "tensor 'a': expected its data at byte 0, found 1");
  EXPECT_EQ(header_error(two("[0,2]", "[2,4]"), 5),
            "expected 4 bytes of data, found 5");
  EXPECT_EQ(header_error(two("[0,2]", "[2,4]"), 3),
            "expected 4 bytes of data, found 3");
}

TEST(Safetensors, EveryTruncationOfAFileIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.path("m.safetensors");
  const std::vector<float> values = {1, 2, 3};
  write_safetensors(path, {{"a", "b"}}, {tensor("t", "F32", {3}, values)});
  const std::string bytes = content_of(path);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(parse_safetensors(bytes.substr(0, length), "m"), InputError) << length;
  }
  EXPECT_NO_THROW(parse_safetensors(bytes, "m"));
}

}  // namespace
}  // namespace kinflow
