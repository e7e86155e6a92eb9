// SPDX-License-Identifier: Apache-2.0
#include "check/conformance.h"
#include "support/shared_files.h"

#include <QTest>

#include <fstream>
#include <set>

using namespace shardwright;
using namespace shardwright::test;

namespace {

Json readJson(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return Json::parse(stream, nullptr, false);
}

std::set<std::string> idsWith(const ConformanceReport& report, ConformanceCase::Status status) {
    std::set<std::string> ids;
    for (const ConformanceCase& c : report.cases)
        if (c.status == status)
            ids.insert(c.id);
    return ids;
}

/// The one case of a file in the schema.
ConformanceCase runOne(const char* format, const char* json) {
    Json file = {{"format", format}, {"cases", Json::array({Json::parse(json)})}};
    const auto report = runConformance(file);
    return report ? report->cases.at(0) : ConformanceCase{};
}

}  // namespace

class TstConformance : public QObject {
    Q_OBJECT

private slots:
    void paddleCasesPass() {
        const auto path = sharedFile("conformance/paddle_spmd.json");
        SKIP_WITHOUT(path, "conformance/paddle_spmd.json");
        const Json file = readJson(*path);
        const auto report = runConformance(file);
        QVERIFY(report);
        // Deliberate differences, with reasons in docs/conformance.md.
        const std::set<std::string> known = {};
        std::set<std::string> failed;
        for (const Json& c : file["cases"]) {
            const std::string id = c["id"];
            if (c["divisible"].get<bool>() && c["shapes_consistent"].get<bool>() &&
                idsWith(*report, ConformanceCase::Status::Failed).contains(id))
                failed.insert(id);
        }
        if (failed != known)
            qWarning("%s", report->text().c_str());
        QVERIFY(failed == known);
        QVERIFY(idsWith(*report, ConformanceCase::Status::Skipped).empty());
    }

    void allShardyCasesPass() { allPass("conformance/shardy.json"); }
    void allOrtCasesPass() { allPass("conformance/ort_distributed.json"); }

    void aWrongExpectationFailsWithBothSides() {
        const auto c =
            runOne("paddle-spmd", R"({"id": "x", "op": "elementwise_unary", "paddle_rule": "relu",
            "onnx_op": "Relu", "onnx_attrs": {}, "attrs": {}, "direction": "forward", "mesh": {"x": 4},
            "input_names": ["X"], "inputs": [{"shape": [64, 36], "dims_mapping": [-1, 0]}], "outputs": null,
            "expected_inputs": [[-1, 0]], "expected_outputs": [[0, -1]], "partial": [[]], "expect_error": null})");
        QCOMPARE(c.status, ConformanceCase::Status::Failed);
        QCOMPARE(c.expected["outputs"].dump(), std::string("[[0,-1]]"));
        QCOMPARE(c.found["outputs"].dump(), std::string("[[-1,0]]"));
    }

    void aConflictThatIsNotThereFails() {
        const auto c =
            runOne("paddle-spmd", R"({"id": "x", "op": "elementwise_unary", "paddle_rule": "relu",
            "onnx_op": "Relu", "attrs": {}, "direction": "forward", "mesh": {"x": 4}, "input_names": ["X"],
            "inputs": [{"shape": [64, 36], "dims_mapping": [-1, 0]}], "outputs": null,
            "expected_inputs": null, "expected_outputs": null, "partial": null, "expect_error": "some"})");
        QCOMPARE(c.status, ConformanceCase::Status::Failed);
    }

    void malformedCasesFailAlone() {
        const Json file = {{"format", "shardy"},
                           {"cases", Json::array({1, Json::object(), Json::parse(R"(
            {"id": "ok", "kind": "reshard", "mesh": {"x": 2}, "shape": [4], "from": [["x"]], "to": [[]],
             "expected_collectives": [["all_gather", [["x"]]]]})")})}};
        const auto report = runConformance(file);
        QVERIFY(report);
        QCOMPARE(report->count(ConformanceCase::Status::Failed), 2);
        QCOMPARE(report->count(ConformanceCase::Status::Passed), 1);
        QVERIFY(report->text().ends_with("1 passed, 2 failed\n"));
    }

    void otherFilesAreRefused() {
        QVERIFY(!runConformance(Json::object()));
        QVERIFY(!runConformance(Json::array()));
        QVERIFY(!runConformance({{"format", "shardy"}}));
        QVERIFY(!runConformance({{"format", "other"}, {"cases", Json::array()}}));
    }

private:
    static void allPass(const char* name) {
        const auto path = sharedFile(name);
        SKIP_WITHOUT(path, name);
        const auto report = runConformance(readJson(*path));
        QVERIFY(report);
        if (report->count(ConformanceCase::Status::Failed) > 0)
            qWarning("%s", report->text().c_str());
        QCOMPARE(report->count(ConformanceCase::Status::Failed), 0);
        QCOMPARE(report->count(ConformanceCase::Status::Skipped), 0);
        QVERIFY(report->count(ConformanceCase::Status::Passed) > 0);
    }
};

QTEST_GUILESS_MAIN(TstConformance)
#include "tst_conformance.moc"
