// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Where the tests' captures are.
#pragma once

#include <filesystem>

namespace urnic::test {

/// pcap_fixtures/ of this tree.
std::filesystem::path fixtures();

/// The folder of further captures outside the project, with rxe/ and public/ in it: captures/ below what the
/// environment variable URNIC_SHARED names, or else below what the CMake variable does. It may be absent:
/// tests then skip.
std::filesystem::path shared_captures();

/// The folder of what an FPGA endpoint (100G-verilog-RoCEv2-lite) said to urnic: fpga/captures/ below the
/// same folder. It may be absent, too.
std::filesystem::path fpga_captures();

}  // namespace urnic::test
