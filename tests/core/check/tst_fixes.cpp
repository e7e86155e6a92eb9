// SPDX-License-Identifier: Apache-2.0
#include "core/plan/plan_case.h"
#include "support/analysed.h"

#include <QtTest>

#include <set>

using namespace shardwright;
using namespace shardwright::test;

namespace {

/// The first diagnostic that has fixes.
Diagnostic firstToFix(const Analysis& analysis) {
    for (const Diagnostic& diagnostic : analysis.diagnostics)
        if (!diagnostic.fixes.empty())
            return diagnostic;
    return {};
}

/// What the model communicates once the fix is applied; -1: it has errors.
std::int64_t bytesAfter(const Analysis& analysis, const Fix& fix) {
    Document document = analysis.document;
    apply(document.annotations, fix.edit);
    const auto mended = analysed(document);
    return errorsOf(*mended).empty() ? mended->communication.totalBytes : -1;
}

}  // namespace

class TstFixes : public QObject {
    Q_OBJECT
private slots:
    void aTensorThatIsReadTwiceIsGatheredOnce() {
        ModelBuilder model;
        model.input("x", {6, 6}).op("Relu", {"x"}, {"t"}, "relu");
        model.op("MatMul", {"t", "t"}, {"y"}, "mm").output("y", {6, 6});
        const auto analysis = PlanCase(model, "tp=2").shard("x@relu:0=tp").analyse();
        const Diagnostic diagnostic = firstToFix(*analysis);
        QCOMPARE(diagnostic.code, std::string("SW301"));
        QCOMPARE(diagnostic.fixes.size(), std::size_t{1});
        const Fix& fix = diagnostic.fixes.front();
        QCOMPARE(fix.title, std::string("Gather `t` at `mm` (144 bytes)"));
        QCOMPARE(bytesAfter(*analysis, fix), std::int64_t{144});
    }

    void fixesOfOneDiagnosticHaveNamesOfTheirOwn() {
        ModelBuilder model;
        model.input("x", {8, 16}).ints("from", {0}).ints("to", {8}).ints("axis", {1});
        model.op("Slice", {"x", "from", "to", "axis"}, {"y"}, "half").output("y", {8, 8});
        const auto analysis = PlanCase(model, "dp=2,tp=2").shard("x:0=dp,1=tp").analyse();
        const Diagnostic diagnostic = firstToFix(*analysis);
        QCOMPARE(diagnostic.fixes.size(), std::size_t{2});
        QCOMPARE(diagnostic.fixes[0].id, std::string("whole-x:1"));
        QCOMPARE(diagnostic.fixes[1].id, std::string("whole-x"));
    }
};

QTEST_GUILESS_MAIN(TstFixes)
#include "tst_fixes.moc"
