"""wire.py - the layout tables of docs/design read as a program: decode packets, records, rows."""
# SPDX-License-Identifier: Apache-2.0
import re

CAPTION = re.compile(r"^\*\*(Layout|Struct|Bits|Values): ([^*]+)\*\*")


class Malformed(Exception):
    """The bytes are not what the document describes."""


class Field:
    """One row of a layout table."""

    def __init__(self, offset, size, name):
        self.name = name
        self.offset = None if offset == "+" else int(offset)
        self.size, _, condition = size.partition(" if ")
        self.condition = re.findall(r"(not )?(\w+)", condition.replace(" and ", " "))


class Document:
    """All tables of one document."""

    def __init__(self, path):
        self.layouts, self.structs, self.bits, self.values = {}, {}, {}, {}
        with open(path, encoding="utf-8") as f:
            lines = f.read().splitlines()
        for number, line in enumerate(lines):
            found = CAPTION.match(line)
            if found:
                self._take(found.group(1), found.group(2), list(self._rows(lines[number + 1:])))

    @staticmethod
    def _rows(lines):
        in_table = False
        for line in lines:
            if line.startswith("|"):
                cells = [cell.strip() for cell in line.strip("|").split("|")]
                if in_table and not set("".join(cells)) <= set("-"):
                    yield cells
                in_table = True
            elif in_table or line:
                return

    def _take(self, kind, name, rows):
        if not rows:
            raise ValueError(f"{kind} {name}: no table follows")
        if kind == "Layout":
            self.layouts[name] = [Field(row[0], row[1], row[2]) for row in rows]
        elif kind == "Struct":
            self.structs[name] = {row[2]: (int(row[0]), int(row[1])) for row in rows}
        elif kind == "Bits":
            self.bits[name] = {row[1]: int(row[0], 0) for row in rows}
        else:
            self.values[name] = {row[1]: int(row[0], 0) for row in rows}

    def decode(self, name, data, start=0, end=None, base=None, given=None):
        """The fields of one layout, and where it ends. Offsets count from `base`, or `start`;
        conditions may also name fields of `given`."""
        end = len(data) if end is None else end
        base = start if base is None else base
        values, pos = {}, start
        for field in self.layouts[name]:
            if not self._is_there(name, field, {**(given or {}), **values}):
                continue
            if field.offset is not None and base + field.offset != pos:
                raise Malformed(f"{name}.{field.name} is not at {pos - base}")
            values[field.name], pos = self._value(field, values, data, pos, end)
        return values, pos

    def encode(self, name, values):
        """The bytes of one layout; lengths and counts are the caller's, padding is not."""
        out = b""
        for field in self.layouts[name]:
            if not self._is_there(name, field, values):
                continue
            value = values.get(field.name, 0)
            many = re.fullmatch(r"(\w+) x (\w+)", field.size)
            if many:
                out += b"".join(self.encode(many.group(2), item) for item in value or ())
            elif isinstance(value, bytes):
                padded = "padded" in field.size
                out += value + bytes(-len(value) % 4 if padded else 0)
            elif field.size.isdigit():
                out += value.to_bytes(int(field.size), "big")
        return out

    def _is_there(self, layout, field, values):
        for negation, bit in field.condition:
            owner = next(k for k in self.bits if k.endswith(f" of {layout}")
                         and bit in self.bits[k])
            is_set = bool(values[owner.split(" of ")[0]] & self.bits[owner][bit])
            if is_set == bool(negation):
                return False
        return True

    def _value(self, field, values, data, pos, end):
        many = re.fullmatch(r"(\w+) x (\w+)", field.size)
        if many:
            items = []
            for _ in range(values[many.group(1)]):
                item, pos = self.decode(many.group(2), data, pos, end)
                items.append(item)
            return items, pos
        name, _, padded = field.size.partition(", ")
        if field.size == "rest":
            size = end - pos
        elif name.isdigit():
            size = int(name)
        else:
            size = values[name]
        whole = (size + 3) // 4 * 4 if padded else size
        if pos + whole > end:
            raise Malformed(f"{field.name} does not fit")
        piece = data[pos:pos + size]
        is_number = name.isdigit() and size <= 8
        return (int.from_bytes(piece, "big") if is_number else piece), pos + whole

    def fixed_size(self, name):
        """Bytes up to the first field whose size is not a number."""
        size = 0
        for field in self.layouts[name]:
            if field.offset is not None:
                size = field.offset
            if not field.size.isdigit() or field.condition:
                break
            size += int(field.size)
        return size
