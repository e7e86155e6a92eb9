// SPDX-License-Identifier: Apache-2.0
// Growth of memory over an empty process for a gigabyte of weights on 4 devices, and the time from
// the start of a run until its first kernel for a model of 32 layers on 2.
#include "memory_run.h"

#include "support/shared_files.h"

#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>

using namespace shardwright::test;

class BenchCliMemory : public QObject {
    Q_OBJECT
private slots:
    void growthOverAnEmptyProcess_data() {
        QTest::addColumn<bool>("inside");
        QTest::newRow("weights in a file of their own") << false;
        QTest::newRow("weights inside of the model") << true;
    }
    void growthOverAnEmptyProcess() {
        QFETCH(bool, inside);
        QTemporaryDir dir;
        TransformerSizes sizes;
        sizes.layers = 15;
        sizes.hidden = 1024;
        sizes.heads = 16;
        sizes.mlp = 4096;
        const MemoryRun run = measureMemory(dir.path(), sizes, 4, inside);
        QVERIFY2(run.problem.isEmpty(), qPrintable(run.problem));
        qInfo("weights %lld, activations %lld, empty %lld, peak %lld, predicted %lld: growth %.3f "
              "times (at most 1.3)",
              run.weights, run.activations, run.empty, run.peak, run.predicted, run.growth());
        QVERIFY(run.growth() <= 1.3);
    }

    void startUntilTheFirstKernel() {
        const auto model = sharedFile("models/llama_32l_gqa_legacy.onnx");
        SKIP_WITHOUT(model, "models/llama_32l_gqa_legacy.onnx");
        QTemporaryDir dir;
        QStringList arguments{"annotate", QString::fromStdString(model->string()),
                              "-o",       dir.filePath("a.onnx"),
                              "--mesh",   "tp=2"};
        for (const std::string& shard : megatronShards("tp"))
            arguments << "--shard" << QString::fromStdString(shard);
        const CliResult annotated = runCli(arguments);
        QVERIFY2(annotated.exitCode == 0, qPrintable(annotated.err));
        std::vector<double> times;
        for (int i = 0; i < 9; ++i) {
            const CliResult result = runCli({"run", dir.filePath("a.onnx"), "--format", "json"});
            QVERIFY2(result.exitCode == 0, qPrintable(result.err));
            times.push_back(result.json()["start_ms"].toDouble());
        }
        std::sort(times.begin(), times.end());
        qInfo("first kernel after %.0f ms (median of %zu, least %.0f, most %.0f; at most 500)",
              times[times.size() / 2], times.size(), times.front(), times.back());
        QVERIFY(times[times.size() / 2] <= 500);
    }
};

QTEST_GUILESS_MAIN(BenchCliMemory)
#include "bench_cli_memory.moc"
