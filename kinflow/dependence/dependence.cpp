// What all dependence structures share.
#include "kinflow/dependence/dependence.h"
