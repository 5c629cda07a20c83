#!/usr/bin/env python3
"""Archives with one fault each, made from a good one: what `dimscope info` says of them.

    broken_pt2.py DIMSCOPE GOOD.pt2 FOLDER

Each must be refused with exit code 3, one line with the file's name, and the text below.
"""
import json
import os
import struct
import subprocess
import sys
import zipfile


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, files, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def edited(files, end, change):
    """The same members, with one whose name ends so changed."""
    return {name: change(data) if name.endswith(end) else data for name, data in files.items()}


def program(files, change):
    def apply(data):
        tree = json.loads(data)
        change(tree)
        return json.dumps(tree).encode()
    return edited(files, "models/model.json", apply)


def weights(files, change):
    def apply(data):
        tree = json.loads(data)
        change(next(iter(tree["config"].values())))
        return json.dumps(tree).encode()
    return edited(files, "model_weights_config.json", apply)


def renamed(files, old, new):
    return {name.replace(old, new): data for name, data in files.items()}


def set_schema(tree):
    tree["schema_version"]["major"] = 9
    tree["torch_version"] = "3.1.0"


def lose_value(tree):
    tree["graph_module"]["graph"]["nodes"][0]["inputs"][0]["arg"]["as_tensor"]["name"] = "nobody"


def many_dims(tree):
    values = tree["graph_module"]["graph"]["tensor_values"]
    next(iter(values.values()))["sizes"] = [{"as_int": 2}] * 11


def odd_size(tree):
    values = tree["graph_module"]["graph"]["tensor_values"]
    values["x"]["sizes"][0] = {"as_expr": {"expr_str": "Symbol('s77'", "hint": None}}


def bomb(path):
    """A member that says it is a terabyte."""
    data = bytearray(open(path, "rb").read())
    at = data.rfind(b"PK\1\2")
    data[at + 20:at + 28] = struct.pack("<II", 1000, 0xFFFFFFF0)
    data[at + 10:at + 12] = struct.pack("<H", 8)
    open(path, "wb").write(data)


def cases(good):
    """name, members or bytes or a function of the path, what is said."""
    files = members(good)
    whole = open(good, "rb").read()
    top = next(iter(files)).split("/")[0]
    yield "truncated", whole[:-100], "ends without its directory: it is truncated"
    yield "empty", b"", "ends without its directory"
    yield "half", whole[:len(whole) // 2], "ends without its directory"
    yield "outside", renamed(files, top + "/archive_format", "../x"), "leaves the archive"
    yield "absolute", renamed(files, top + "/archive_format", "/etc/x"), "leaves the archive"
    yield "later", program(files, set_schema), "its schema is version 9, of torch 3.1.0"
    yield "two", {**files, top + "/models/other.json": b"{}"}, "the archive has 2 models"
    yield "none", {top + "/data.pkl": b"x"}, "has no models/*.json"
    yield "big", edited(files, "byteorder", lambda _: b"big"), "its byte order is 'big'"
    yield "cut", edited(files, "models/model.json", lambda d: d[:999]), "JSON: "
    yield "nobody", program(files, lose_value), "no value is named 'nobody' here"
    yield "dims", program(files, many_dims), "more than 10 dims"
    yield "size", program(files, odd_size), "size: "
    yield "strides", weights(files, lambda w: w["tensor_meta"]["strides"][0].update(as_int=9999)), \
        "lies outside of its storage"
    yield "offset", weights(files, lambda w: w["tensor_meta"]["storage_offset"].update(as_int=99)), \
        "lies outside of its storage"
    yield "bomb", bomb, "larger than deflate can pack"


def main():
    program_path, good, folder = sys.argv[1:4]
    failed = passed = 0
    for name, content, said in cases(good):
        path = os.path.join(folder, name + ".pt2")
        if isinstance(content, bytes):
            open(path, "wb").write(content)
        elif callable(content):
            write(path, members(good))
            content(path)
        else:
            write(path, content)
        done = subprocess.run([program_path, "info", path], capture_output=True, text=True,
                              check=False)
        lines = done.stderr.splitlines()
        ok = (done.returncode == 3 and lines and said in lines[0]
              and lines[0].startswith(path) and done.stdout == "")
        passed += ok
        failed += not ok
        if not ok:
            print(f"{name}: exit {done.returncode}, not '{said}': {done.stderr}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
