// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rules/rule.h"
#include "run/cuda_library.h"
#include "run/data_mover.h"

#include <map>
#include <memory>
#include <mutex>

namespace shardwright {

/// How the plug-in is asked for a reduction of this type: of bool, sum and max are `or`, prod and
/// min are `and`.
Join joinOf(ReduceKind kind, std::int32_t elementType);

/// Devices that share GPUs, or GPUs that see each other's memory, in one process: each device
/// copies and joins by itself, in the order of the devices, after all streams have been waited for.
/// The bits are those of the host.
std::unique_ptr<DataMover> makeDeviceMemoryMover(std::shared_ptr<CudaDevice> device);

/// Where the devices of a run meet to make NCCL communicators, one a device group.
class NcclMeetings {
public:
    explicit NcclMeetings(CudaLibrary& library) : m_library(library) {}
    NcclId idOf(const DeviceGroup& devices);

private:
    CudaLibrary& m_library;
    std::mutex m_mutex;
    std::map<DeviceGroup, NcclId> m_ids;
};

/// A GPU a device, connected by NCCL: nothing waits for a stream. Sums are in NCCL's order: all
/// devices get the same bits, but not those of the host. What NCCL does not join (16-bit integers,
/// bitwise and/or, uneven blocks, tensors that some device has no part of) is sent by it and joined
/// here.
std::unique_ptr<DataMover> makeNcclMover(std::shared_ptr<CudaDevice> device,
                                         std::shared_ptr<NcclMeetings> meetings);

}  // namespace shardwright
