// SPDX-License-Identifier: Apache-2.0
#include "check/conformance.h"

#include "check/conformance_node.h"

#include <algorithm>
#include <array>

namespace shardwright {

namespace {

struct Schema {
    const char* format;
    ConformanceCase (*run)(const Json&);
};
constexpr std::array<Schema, 3> kSchemas = {Schema{"paddle-spmd", runPaddleCase},
                                            Schema{"shardy", runShardyCase},
                                            Schema{"ort-distributed", runOrtCase}};

const char* statusName(ConformanceCase::Status status) {
    switch (status) {
        case ConformanceCase::Status::Passed: return "passed";
        case ConformanceCase::Status::Failed: return "failed";
        case ConformanceCase::Status::Skipped: break;
    }
    return "skipped";
}

}  // namespace

int ConformanceReport::count(ConformanceCase::Status status) const {
    return static_cast<int>(std::count_if(
        cases.begin(), cases.end(), [&](const ConformanceCase& c) { return c.status == status; }));
}

Json ConformanceReport::json() const {
    Json list = Json::array();
    for (const ConformanceCase& c : cases) {
        Json entry = {{"id", c.id}, {"status", statusName(c.status)}};
        if (!c.expected.is_null() || !c.found.is_null()) {
            entry["expected"] = c.expected;
            entry["found"] = c.found;
        }
        if (!c.note.empty())
            entry["note"] = c.note;
        list.push_back(std::move(entry));
    }
    return {{"format", format},
            {"passed", count(ConformanceCase::Status::Passed)},
            {"failed", count(ConformanceCase::Status::Failed)},
            {"skipped", count(ConformanceCase::Status::Skipped)},
            {"cases", std::move(list)}};
}

std::string ConformanceReport::text() const {
    std::string result;
    for (const ConformanceCase& c : cases) {
        if (c.status == ConformanceCase::Status::Passed)
            continue;
        result += std::string(statusName(c.status)) + " " + c.id;
        if (!c.note.empty())
            result += ": " + c.note;
        result += "\n";
        if (!c.expected.is_null() || !c.found.is_null())
            result += "  expected " + c.expected.dump() + "\n  found    " + c.found.dump() + "\n";
    }
    const int skipped = count(ConformanceCase::Status::Skipped);
    result += std::to_string(count(ConformanceCase::Status::Passed)) + " passed, " +
              std::to_string(count(ConformanceCase::Status::Failed)) + " failed";
    if (skipped > 0)
        result += ", " + std::to_string(skipped) + " skipped";
    return result + "\n";
}

Result<ConformanceReport> runConformance(const Json& file) {
    const auto field = [&](const char* name) {
        return file.is_object() && file.contains(name) ? file.at(name) : Json();
    };
    const Json format = field("format"), cases = field("cases");
    const auto schema = std::find_if(kSchemas.begin(), kSchemas.end(), [&](const Schema& s) {
        return format.is_string() && format.get<std::string>() == s.format;
    });
    if (schema == kSchemas.end())
        return Error{"`format` is " + format.dump() +
                         "; expected \"paddle-spmd\", \"shardy\" or \"ort-distributed\"",
                     {}};
    if (!cases.is_array())
        return Error{"`cases` is not a list", {}};
    ConformanceReport report;
    report.format = schema->format;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const Json& json = cases[i];
        const bool named = json.is_object() && json.contains("id") && json["id"].is_string();
        const std::string id = named ? json["id"].get<std::string>() : "#" + std::to_string(i);
        try {
            report.cases.push_back(schema->run(json));
        } catch (const Json::exception& error) {
            report.cases.push_back(failCase(id, std::string("malformed case: ") + error.what()));
        }
        report.cases.back().id = id;
    }
    return report;
}

ConformanceCase compareCase(const std::string& id, Json expected, Json found) {
    ConformanceCase result;
    result.id = id;
    if (expected == found)
        return result;
    result.status = ConformanceCase::Status::Failed;
    result.expected = std::move(expected);
    result.found = std::move(found);
    return result;
}

ConformanceCase failCase(const std::string& id, std::string note) {
    ConformanceCase result;
    result.id = id;
    result.status = ConformanceCase::Status::Failed;
    result.note = std::move(note);
    return result;
}

}  // namespace shardwright
