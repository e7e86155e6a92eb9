// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communication.h"
#include "comm/reshard.h"
#include "plan/tiles.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardwright::lowering {

/// A tensor on a device, before it is known whether it leaves its segment. Index = its id.
struct DraftLocal {
    enum class Origin {
        Step,      ///< Written by `step`.
        Constant,  ///< Embedded in each segment that reads it.
        Input,     ///< Loaded by the runner.
    };
    DeviceId device = 0;
    ValueId value;
    Box box;
    int term = 0;
    bool partial = false;  ///< One term of a reduction that is still to be joined.
    bool sized =
        true;  ///< False: whole, and its shape is not known (it must not leave its segment).
    Origin origin = Origin::Step;
    int step = -1;
    bool kept = false;  ///< A graph output or an observed value.

    bool live = false;
    int ready = 0;        ///< First phase whose segments can read it.
    int readyToCopy = 0;  ///< First phase whose copies and exchanges can read it.
    std::string name;
    int tensor = -1;  ///< Index into DeviceProgram::tensors where it leaves its segment.
};

/// One thing to do, in an order in which everything can be done.
struct DraftStep {
    enum class Kind { Node, Cut, Unary, Copy, Exchange };
    Kind kind = Kind::Node;
    DeviceId device = -1;                  ///< -1: an exchange.
    NodeId node;                           ///< Whose work it is.
    const Tile* tile = nullptr;            ///< Node: null where it is whole.
    const CellGrid* cells = nullptr;       ///< Of `tile`.
    std::string op;                        ///< Unary: the operator.
    ReduceKind reduce = ReduceKind::None;  ///< Copy.
    int exchange = -1;
    std::vector<int> inputs;   ///< Locals; -1: an omitted slot, or one that the writer makes up.
    std::vector<int> outputs;  ///< Locals; -1: an omitted slot.

    bool live = false;
    int phase = 0;
    bool beside = false;  ///< Runs while the phase's exchanges are under way.
    bool inSegment() const { return kind != Kind::Copy && kind != Kind::Exchange; }
};

struct DraftExchange {
    GroupOperation operation;
    ValueId value;
    NodeId node;
    CommPhase phase = CommPhase::Output;
    std::vector<std::vector<int>> sources, targets;  ///< Locals, per device of operation.devices.
};

/// All locals and steps of a plan while it is made.
struct Draft {
    std::vector<DraftLocal> locals;
    std::vector<DraftStep> steps;
    std::vector<DraftExchange> exchanges;
    int phases = 1;

    int add(DraftLocal local);
    /// Adds the step and makes it the origin of its outputs.
    void add(DraftStep step);
    void add(DraftExchange exchange);
};

/// Marks what outputs, observed values and exchanges need, going backwards. Exchanges are always
/// done: the communication of a model is what its annotations say, used or not.
void markLive(Draft& draft);

/// Gives every live step its phase: as early as what it reads allows.
void assignPhases(Draft& draft);

}  // namespace shardwright::lowering
