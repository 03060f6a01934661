#pragma once
#include "keep.h"
#include "onednn.h"

// kernels_register lets a plugin's programs call onednn_convolve by a name; it returns what is wrong, or NULL.
const char *kernels_register(pjrt_api *api, const char *name);
