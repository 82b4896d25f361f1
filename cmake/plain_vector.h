// For clang, before LibTorch: a std::vector whose members are not constexpr, as before
// C++20. LibTorch 1.13 has vectors of a class that is not complete yet (c10::IValue);
// clang compiles constexpr members where they are used, all others at the end.
#pragma once

#include <string>

#ifdef _GLIBCXX20_CONSTEXPR
#pragma push_macro("_GLIBCXX20_CONSTEXPR")
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR
// <string> has declared this one constexpr. It stays undefined: std::fill() over a
// vector<bool> would not link.
#define __fill_a1 __fill_of_plain_vector
#include <vector>
#undef __fill_a1
#pragma pop_macro("_GLIBCXX20_CONSTEXPR")
#endif
