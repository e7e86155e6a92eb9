// SPDX-License-Identifier: Apache-2.0
// Faults of a collective in exported transformers, split by the rules that serve as examples: each
// is seen, and the first tensor that is wrong is named.
#include "run/ort_api.h"
#include "run/run_job.h"
#include "sharding/edit.h"
#include "sharding/shard_text.h"
#include "support/communicator_fault.h"
#include "support/shared_files.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

using namespace shardwright;
using namespace shardwright::test;

namespace {

std::vector<std::string> rulesOf(const QString& name) {
    QFile file(qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/tests/data/annotations/" + name +
               ".json");
    std::vector<std::string> rules;
    if (file.open(QIODevice::ReadOnly))
        for (const QJsonValue& rule :
             QJsonDocument::fromJson(file.readAll()).object()["shards"].toArray())
            rules.push_back(rule.toString().toStdString());
    return rules;
}

std::string annotated(const std::filesystem::path& path, const QString& rules) {
    Document document = Document::open(path).value();
    LayoutPool pool;
    AnnotateRequest request;
    request.mesh = "tp=2";
    request.shards = rulesOf(rules);
    auto outcome = annotate(document, *ShapeTable::build(document.model, {}), request, pool);
    if (!outcome)
        qFatal("%s", outcome.error().text().c_str());
    apply(document.annotations, outcome->edit);
    return document.toBytes().value();
}

}  // namespace

class TstFaultsSlow : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        if (!OrtRuntime::find())
            QSKIP("needs ONNX Runtime, which is not there");
        if (!sharedFile("models/llama_4l_gqa_legacy.onnx"))
            QSKIP("models: the shared models are not here");
    }
    void theFirstWrongTensorIsNamed_data();
    void theFirstWrongTensorIsNamed();
};

void TstFaultsSlow::theFirstWrongTensorIsNamed_data() {
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("rules");
    QTest::addColumn<int>("fault");
    QTest::addColumn<int>("nth");
    QTest::addColumn<QString>("node");
    const auto rows = [](const QString& model, const QString& rules, int nth, const QString& node) {
        for (const auto& [fault, name] : {std::pair{Fault::Drop, "drop"},
                                          {Fault::Double, "double"},
                                          {Fault::Shrink, "shrink"},
                                          {Fault::Exchange, "exchange"}})
            QTest::addRow("%s %s %d", qPrintable(rules), name, nth)
                << model << rules << int(fault) << nth << node;
    };
    rows("llama_4l_gqa_legacy", "llama", 0, "/m/model/layers.0/self_attn/o_proj/MatMul");
    rows("llama_4l_gqa_legacy", "llama", 7, "/m/model/layers.3/mlp/down_proj/MatMul");
    rows("bert_4l_dynamo", "bert", 1, "node_MatMul_100");
    rows("bert_4l_dynamo", "bert", 4, "node_MatMul_173");
    // Steps of quantised values that fall otherwise after the fault are no reason to look past it.
    rows("bert_4l_qdq", "bert_quantised", 3, "/m/encoder/layer.1/output/dense/MatMul");
}

void TstFaultsSlow::theFirstWrongTensorIsNamed() {
    QFETCH(QString, model);
    QFETCH(QString, rules);
    QFETCH(int, fault);
    QFETCH(int, nth);
    QFETCH(QString, node);
    RunRequest request;
    request.modelBytes = annotated(*sharedFile("models/" + model.toStdString() + ".onnx"), rules);
    request.verify = VerifyMode::Outputs;
    RunHooks hooks;
    hooks.decorate = [&](std::unique_ptr<Communicator> inner) {
        return std::make_unique<CommunicatorFault>(std::move(inner), static_cast<Fault>(fault),
                                                   nth);
    };
    const RunOutcome outcome = runJob(
        request, [](const RunEvent&) {}, {}, hooks);
    const auto* report = std::get_if<RunReport>(&outcome);
    QVERIFY(report != nullptr);
    QVERIFY(report->verified == false);
    QVERIFY(report->firstDivergent);
    QCOMPARE(QString::fromStdString(report->firstDivergent->node.name), node);
    QCOMPARE(report->executed != report->predicted, fault != int(Fault::Exchange));
}

QTEST_GUILESS_MAIN(TstFaultsSlow)
#include "tst_faults_slow.moc"
