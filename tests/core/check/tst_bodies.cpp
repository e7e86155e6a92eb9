// SPDX-License-Identifier: Apache-2.0
#include "check/analysis.h"
#include "sharding/edit.h"
#include "sharding/shard_text.h"
#include "support/model_builder.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;

/// Diagnostics of nodes inside of If, Loop, Scan and functions.
class TstBodies : public QObject {
    Q_OBJECT

private slots:
    void aSpecInABodyIsSaidToChangeNothing_data() {
        QTest::addColumn<QString>("shard");
        QTest::addColumn<QString>("message");
        QTest::newRow("inside") << "w:1=tp"
                                << "MatMul `inner`: its specs change nothing: it is inside of a "
                                   "body, which runs as the node that holds it is split";
        QTest::newRow("at the node that holds it") << "y:0=tp"
                                                   << "";
    }
    void aSpecInABodyIsSaidToChangeNothing() {
        QFETCH(QString, shard);
        QFETCH(QString, message);
        const auto branch = ModelBuilder{}
                                .weight("w", {6, 8})
                                .op("MatMul", {"x", "w"}, {"product"}, "inner")
                                .output("product", {4, 8});
        Document document =
            ModelBuilder{}
                .input("c", {}, onnx::TensorProto::BOOL)
                .input("x", {4, 6})
                .op("If", {"c"}, {"y"}, "call",
                    {{"then_branch", branch.graph("yes")}, {"else_branch", branch.graph("no")}})
                .output("y", {4, 8})
                .document();
        AnnotateRequest request;
        request.mesh = "tp=2";
        request.shards = {shard.toStdString()};
        LayoutPool pool;
        auto outcome = annotate(document, *ShapeTable::build(document.model, {}), request, pool);
        QVERIFY(outcome);
        apply(document.annotations, outcome->edit);
        const auto analysis = Analyser().run(document, {});
        QVERIFY(analysis);
        QString said;
        for (const Diagnostic& diagnostic : (*analysis)->diagnostics)
            if (diagnostic.code == "SW311")
                said += QString::fromStdString(diagnostic.message);
        if (!message.isEmpty())
            message += " (and 1 more)";
        QCOMPARE(said, message);
    }
};

QTEST_GUILESS_MAIN(TstBodies)
#include "tst_bodies.moc"
