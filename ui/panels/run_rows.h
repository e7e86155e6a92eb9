// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check/analysis.h"
#include "run/run_events.h"
#include "ui/panels/rows_model.h"

#include <map>
#include <unordered_map>

namespace shardwright {

// The tables of a run: what the worker tells, as rows.

/// The nodes that a report names.
class NodesByPlace {
public:
    explicit NodesByPlace(const Analysis* analysis);
    /// Invalid where the model has none like it.
    NodeId find(const RunPlace& place) const;
    /// "mm1", "node 12" where it has no name.
    QString label(const RunPlace& place) const;
    NodeId producer(const std::string& tensor) const;

private:
    const Analysis* m_analysis;
    std::unordered_multimap<int, NodeId> m_nodes;
};

/// What is known of a device, while it runs and after.
struct DeviceFacts {
    RunDeviceTiming timing{};
    RunMemory memory{};
    int segments = 0;
    bool timed = false;  ///< `timing` is there.
};

enum DeviceColumn {
    DeviceName,
    DeviceBar,
    DeviceCompute,
    DeviceCommunication,
    DeviceWaiting,
    DeviceMemory,
    DevicePeak,
    DevicePredicted,
    DeviceSegments,
    DevicePrepare
};
std::vector<RowColumn> deviceColumns();
/// `extra`: computing, communicating, waiting and the longest of all devices, in ms.
std::vector<Row> deviceRows(const std::map<int, DeviceFacts>& devices);

enum OperatorColumn {
    OperatorName,
    OperatorNode,
    OperatorDevice,
    OperatorCalls,
    OperatorMedian,
    OperatorTotal,
    OperatorShare
};
std::vector<RowColumn> operatorColumns();
/// A row a kernel, or the sum over all nodes with the same operator.
std::vector<Row> operatorRows(const std::vector<RunOperator>& operators, const NodesByPlace& nodes,
                              bool summed);

enum CollectiveColumn {
    CollectiveKindName,
    CollectiveNode,
    CollectiveTensor,
    CollectiveDevices,
    CollectiveBytes,
    CollectivePredicted,
    CollectiveMeasured,
    CollectiveWaiting,
    CollectiveBandwidth
};
std::vector<RowColumn> collectiveColumns();
std::vector<Row> collectiveRows(const std::vector<RunCollective>& collectives,
                                const NodesByPlace& nodes);
/// Whether what was counted is what was predicted, and how long that took.
QString collectivesSummary(const RunReport& report);

enum CheckColumn { CheckTensor, CheckDifference, CheckRelative, CheckAllowed, CheckResult };
std::vector<RowColumn> checkColumns();
std::vector<Row> checkRows(const RunReport& report, const NodesByPlace& nodes);

}  // namespace shardwright
