// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include "check/conformance.h"

#include <fstream>
#include <iostream>

namespace shardwright::cli {

int conformance(const std::string& path, Format format) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream)
        return fail(Error{"cannot be opened", path});
    const Json file = Json::parse(stream, nullptr, false);
    if (file.is_discarded())
        return fail(Error{"is not JSON", path});
    const auto report = runConformance(file);
    if (!report)
        return fail(Error{report.error().message, path});
    if (format == Format::Json)
        std::cout << report->json().dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
    else
        std::cout << report->text();
    return report->count(ConformanceCase::Status::Failed) > 0 ? kModelErrors : kOk;
}

}  // namespace shardwright::cli
