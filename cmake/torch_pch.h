// Precompiled for every file of the library that computes with tensors.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
