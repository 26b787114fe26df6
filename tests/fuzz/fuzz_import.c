/* SPDX-License-Identifier: MIT */
/* A capture of whatever format, read to its end; no trace is written. */
#include "tests/fuzz/fuzz.h"

#include "import/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bt_error err = {0};
	struct importer *im;
	int rc;

	MUST(importer_new(&im, NULL, &err) == 0);
	rc = capture_import(im, slice_of(data, size), &err);
	MUST(rc <= 0 && (!rc || ((int)err.code == -rc && *err.text && err.offset <= size)));
	/* At least 8 bytes a sample, and 24 a branch; packed ones are held to a ratio, and text has
	 * 8 characters a branch. */
	MUST(importer_samples(im) <= (1u << 28) / 8 + 2000 * (uint64_t)size);
	if (rc)
		importer_discard(im);
	else
		MUST(importer_close(im, &err) == 0 || err.code == BT_E_UNSUPPORTED);
	return 0;
}
