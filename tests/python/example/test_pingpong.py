# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
import urnic


def test_two_programs_talk(urnic_fabric, urnic_capture):
    server, client = urnic_fabric(2)
    port = urnic.free_port()
    words = ["ibv_rc_pingpong", "-d", server.device, "-g", server.gid_index, "-p", port]
    listening = server.popen(words)
    listening.wait_for_listener(port)
    assert "1000 iters" in client.run([*words, "127.0.0.1"]).stdout
    listening.expect_end()
