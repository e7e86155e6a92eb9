#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds with warnings as errors, and runs all tests, slow ones too. The exit status is that of ctest.
#   packaging/test.sh [ctest arguments, such as -R core/model]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source packaging/build.sh
packaging/setup.sh
build_preset ci

# Prints how many test functions said QSKIP, and why, before ctest's own summary, which comes last.
summary_last() {
    awk '
        /^[0-9]+% tests passed/ { held = 1 }
        held { summary = summary $0 "\n"; next }
        { print; fflush() }
        END { while ((getline line < log_file) > 0) {
                  if (line ~ /^SKIP   : /) { skipped++; if (!(line in seen)) { seen[line]; print line } }
              }
              printf "Skipped test functions: %d (of all tests above)\n\n%s", skipped, summary }
    ' log_file=build/ci/Testing/Temporary/LastTest.log -
}

rm -f build/ci/Testing/Temporary/LastTest.log
ctest --preset ci "$@" 2>&1 | summary_last && status=0 || status=${PIPESTATUS[0]}
exit "$status"
