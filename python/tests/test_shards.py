"""Shards of every recipe, whole and damaged; neither NumPy nor PyTorch is needed."""

import gzip
import hashlib
import json
import os
import shutil
import tempfile
import unittest
import warnings

from pretext import IGNORED, Masking, ShardDataset, ShardError, ShardStream

from shards import LENGTH, Copies, lines, options, path, records

RECIPES = ["google", "mlm", "bins", "gzip", "tokens", "packed", "pieces", "many"]


def lists(kind, name, split="train", **more):
    if name == "gzip" and kind is ShardDataset:
        cache = tempfile.mkdtemp()
        unittest.addModuleCleanup(shutil.rmtree, cache)
        more["cache"] = cache
    return kind(path(name), split, tensors="list", **options(name), **more)


def expected(record, cls, sep):
    """What a dataset gives for a record, without dynamic masks; of a document, for each piece."""
    ids = record["input_ids"]
    if "sequence_lengths" in record:
        lengths = record["sequence_lengths"]
        rest = len(ids) - sum(lengths)
        yield {"input_ids": ids, "attention_mask": [1] * sum(lengths) + [0] * rest, "token_type_ids": [0] * len(ids),
               "position_ids": sum((list(range(n)) for n in lengths), []) + [0] * rest,
               "sequence_ids": sum(([i] * n for i, n in enumerate(lengths)), []) + [-1] * rest}
    elif "input_mask" not in record and ids[0] == cls and ids[-1] == sep:
        yield {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": [0] * len(ids)}
    elif "input_mask" not in record:
        pieces = -(-len(ids) // (LENGTH - 2))
        for i in range(pieces):
            piece = [cls, *ids[len(ids) * i // pieces:len(ids) * (i + 1) // pieces], sep]
            yield {"input_ids": piece, "attention_mask": [1] * len(piece), "token_type_ids": [0] * len(piece)}
    else:
        labels = [IGNORED] * len(ids)
        for at, value, weight in zip(record["masked_lm_positions"], record["masked_lm_ids"], record["masked_lm_weights"]):
            if weight:
                labels[at] = value
        out = {"input_ids": ids, "attention_mask": record["input_mask"], "token_type_ids": record["segment_ids"], "labels": labels}
        if "next_sentence_labels" in record:
            label = record["next_sentence_labels"]
            out["next_sentence_label"] = label[0] if isinstance(label, list) else label
        yield out


def special(name, token):
    with open(os.path.join(path(name), "vocab.txt"), encoding="utf-8") as f:
        return f.read().split("\n").index(token)


class Values(unittest.TestCase):
    def test_every_value_is_that_which_prepare_data_shows(self):
        for name in RECIPES:
            for split in "train", "eval":
                cls, sep = special(name, "[CLS]"), special(name, "[SEP]")
                want = [item for r in records(name, split) for item in expected(r, cls, sep)]
                data = lists(ShardDataset, name, split)
                self.assertEqual(len(data), len(want), (name, split))
                self.assertGreater(len(want), 0)
                for i, item in enumerate(want):
                    self.assertEqual(data[i], item, (name, split, i))

    def test_a_stream_without_shuffle_is_in_the_order_of_the_files(self):
        for name in RECIPES:
            cls, sep = special(name, "[CLS]"), special(name, "[SEP]")
            want = [item for r in records(name, "eval") for item in expected(r, cls, sep)]
            self.assertEqual(list(lists(ShardStream, name, "eval", shuffle=False)), want, name)

    def test_order_and_masks_are_those_of_train_bert(self):
        for name in ["words", "tokens", "packed", "pieces", "many", "large"]:
            masking = Masking(seed=7, whole_word=name == "words")
            folder = "google" if name == "words" else name
            stream = lists(ShardStream, folder, seed=7, masking=masking)
            want = lines(name + ".order")
            found, epoch = {}, None
            positions = {line["position"] for line in want}
            self.assertGreater(len(positions), 100)
            for epoch in range(2):
                stream.set_epoch(epoch)
                if name == "large":  # reading all of it takes long
                    for p in positions:
                        if p // len(stream) == epoch:
                            stream.set_epoch(epoch, start=p % len(stream))
                            found[p] = next(iter(stream))
                            stream.set_epoch(epoch)
                    continue
                for i, item in enumerate(stream):
                    found[epoch * len(stream) + i] = item
            for line in want:
                item = found[line["position"]]
                tokens = sum(item["attention_mask"])
                targets = {str(i): label for i, label in enumerate(item["labels"]) if label != IGNORED}
                self.assertEqual((item["input_ids"][:tokens], targets), (line["ids"], line["targets"]), (name, line["position"]))

    def test_the_fractions_of_masking_are_those_that_were_asked_for(self):
        data = lists(ShardDataset, "packed", masking=Masking(prob=0.3, mask=1, random=0))
        mask = special("packed", "[MASK]")
        for i in range(len(data)):
            item = data[i]
            tokens, targets = sum(item["attention_mask"]), [at for at, label in enumerate(item["labels"]) if label != IGNORED]
            self.assertEqual(len(targets), round(0.3 * tokens))
            self.assertTrue(all(item["input_ids"][at] == mask for at in targets))
        few = lists(ShardDataset, "packed", masking=Masking(max_predictions=5))[0]
        self.assertEqual(sum(label != IGNORED for label in few["labels"]), 5)

    def test_a_tokenizer_json_has_its_special_tokens_in_the_manifest(self):
        with open(os.path.join(path("bpe"), "manifest.json"), encoding="utf-8") as f:
            ids = json.load(f)["options"]["tokenizer"]
        data = ShardDataset(path("bpe"), tensors="list", masking=Masking(prob=0.5, mask=1, random=0))
        self.assertEqual(data.pad_token_id, ids["pad"])
        for i in range(len(data)):
            item = data[i]
            masked = {item["input_ids"][at] for at, label in enumerate(item["labels"]) if label != IGNORED}
            self.assertEqual(masked, {ids["mask"]})
            self.assertFalse({ids["cls"], ids["sep"], ids["pad"]} & set(item["labels"]))
        with self.assertRaisesRegex(ValueError, "whole_word needs a vocab.txt"):
            ShardDataset(path("bpe"), masking=Masking(whole_word=True))

    def test_masks_change_with_epoch_and_seed_alone(self):
        data, other = lists(ShardDataset, "google", masking=Masking()), lists(ShardDataset, "google", masking=Masking(seed=2))
        first = data[5]
        self.assertEqual(data[5], first)
        self.assertNotEqual(other[5], first)
        data.set_epoch(1)
        self.assertNotEqual(data[5], first)
        data.set_epoch(0)
        self.assertEqual(data[5], first)


class Division(unittest.TestCase):
    def test_every_example_comes_once_for_any_number_of_ranks(self):
        whole = lists(ShardStream, "tokens")
        want = list(whole)
        for world in 1, 2, 3, 7, 64:
            parts = [list(lists(ShardStream, "tokens", rank=r, world=world)) for r in range(world)]
            self.assertEqual([parts[p % world][p // world] for p in range(len(want))], want)
            self.assertEqual(sum(map(len, parts)), len(want))

    def test_with_drop_and_repeat_all_ranks_have_equally_many(self):
        total = len(lists(ShardStream, "tokens"))
        self.assertNotEqual(total % 7, 0)
        for tail, want in ("drop", total // 7), ("repeat", total // 7 + 1):
            for rank in range(7):
                stream = lists(ShardStream, "tokens", rank=rank, world=7, tail=tail)
                self.assertEqual((len(stream), len(list(stream))), (want, want), tail)

    def test_a_stream_resumes_at_a_position(self):
        stream = lists(ShardStream, "google", rank=1, world=2)
        stream.set_epoch(3)
        want = list(stream)
        stream.set_epoch(3, start=1000)
        self.assertEqual(list(stream), want[500:])
        self.assertEqual(len(stream), len(want) - 500)

    def test_wrong_options_are_refused(self):
        for wrong in [{"rank": 2, "world": 2}, {"rank": 0}, {"tail": "cut"}, {"batch_size": 0}, {"split": "test"}, {"max_seq_length": 8}, {"tensors": "tf"}]:
            with self.assertRaises(ValueError, msg=wrong):
                ShardStream(path("google"), **wrong)
        with self.assertRaises(ValueError):
            ShardDataset(path("tokens"))
        with self.assertRaises(TypeError):
            ShardDataset(path("google"), shuffel=True)
        for wrong in [{"prob": 0}, {"mask": 0.8, "random": 0.3}, {"max_predictions": -1}, {"seed": -1}]:
            with self.assertRaises(ValueError, msg=wrong):
                Masking(**wrong)

    def test_ranks_that_nobody_set_are_refused(self):
        os.environ["WORLD_SIZE"] = "4"
        try:
            with self.assertRaisesRegex(ValueError, "init_process_group"):
                ShardStream(path("google"))
        finally:
            del os.environ["WORLD_SIZE"]


class Damage(Copies):
    def file(self, folder):
        return os.path.join(folder, sorted(n for n in os.listdir(folder) if n.startswith("train") and ".tfrecord" in n)[0])

    def read(self, folder, **more):
        return list(ShardStream(folder, shuffle=False, tensors="list", **more))

    def place(self, folder, record):
        with open(self.file(folder).replace(".tfrecord", ".idx")) as f:
            return tuple(map(int, f.read().split("\n")[record].split()))

    def test_a_corrupt_byte_names_file_record_and_offset(self):
        for inside, reason in (3, "length"), (40, "checksum"), (-1, "checksum"):
            folder = self.copy("google")
            offset, length = self.place(folder, 17)
            self.change(self.file(folder), offset + (inside if inside >= 0 else length - 1), 1)
            with self.assertRaises(ShardError) as caught:
                self.read(folder)
            err = caught.exception
            self.assertEqual((err.file, err.record, err.offset), (self.file(folder), 17, offset))
            self.assertIn(reason, str(err))
            self.assertNotIn("\n", str(err))

    def test_checksums_may_be_left_out(self):
        folder = self.copy("google")
        offset, length = self.place(folder, 17)
        self.change(self.file(folder), offset + length - 1, 1)
        self.assertEqual(len(self.read(folder, checksums=False)), len(records("google", "train")))

    def test_a_truncated_shard_is_refused(self):
        folder = self.copy("google")
        self.change(self.file(folder), 5000)
        with self.assertRaisesRegex(ShardError, "has 5000 bytes, the manifest says"):
            self.read(folder)

    def test_a_shard_that_is_truncated_later_is_an_error_with_its_place(self):
        folder = self.copy("google")
        data = ShardDataset(folder, tensors="list")
        offset, length = self.place(folder, 17)
        self.change(self.file(folder), offset + length - 3)
        with self.assertRaises(ShardError) as caught:
            data[17]
        self.assertEqual((caught.exception.record, caught.exception.offset), (17, offset))

    def test_verify_compares_every_byte(self):
        folder = self.copy("google")
        ShardDataset(folder, verify=True)
        self.change(self.file(folder), 1, 1)
        ShardDataset(folder)
        with self.assertRaisesRegex(ShardError, "SHA-256"):
            ShardDataset(folder, verify=True)

    def test_missing_and_wrong_files_are_named(self):
        for name in ".tfrecord", ".idx":
            folder = self.copy("google")
            os.remove(self.file(folder).replace(".tfrecord", name))
            with self.assertRaisesRegex(ShardError, name + ": is missing"):
                ShardDataset(folder)
        folder = self.copy("google")
        self.change(self.file(folder).replace(".tfrecord", ".idx"), 20, 3)
        with self.assertRaisesRegex(ShardError, "is not the index"):
            ShardDataset(folder)
        folder = self.copy("tokens")
        with open(self.file(folder).replace(".tfrecord", ".json"), "w") as f:
            json.dump({"body": {"tokens": [1]}}, f)
        with self.assertRaisesRegex(ShardError, "does not list the records"):
            ShardDataset(folder, max_seq_length=LENGTH)
        folder = self.copy("tokens")
        os.remove(os.path.join(folder, "vocab.txt"))
        with self.assertRaisesRegex(ShardError, "vocab.txt: is missing"):
            ShardDataset(folder, max_seq_length=LENGTH)

    def test_unfinished_and_foreign_folders_are_refused(self):
        folder = self.copy("google")
        os.remove(os.path.join(folder, "manifest.json"))
        with self.assertRaisesRegex(ShardError, "is not finished"):
            ShardDataset(folder)
        with self.assertRaisesRegex(ShardError, 'no shards of the split "train"'):
            ShardDataset(tempfile.gettempdir() if not os.listdir(tempfile.gettempdir()) else tempfile.mkdtemp())
        with self.assertRaises(FileNotFoundError):
            ShardDataset(os.path.join(folder, "nowhere"))
        manifest = os.path.join(self.copy("google"), "manifest.json")
        with open(manifest) as f:
            text = f.read()
        for old, new, reason in ('"stage": "examples"', '"stage": "extract"', "its stage is"), ('"format_version": 1', '"format_version": 9', "format_version 9"):
            self.assertIn(old, text)
            with open(manifest, "w") as f:
                f.write(text.replace(old, new, 1))
            with self.assertRaisesRegex(ShardError, reason):
                ShardDataset(os.path.dirname(manifest))

    def test_a_corrupt_compressed_shard_is_an_error(self):
        folder = self.copy("gzip")
        self.change(self.file(folder), 3000, 255)
        with self.assertRaisesRegex(ShardError, "cannot be uncompressed|corrupt|checksum"):
            self.read(folder)


class Folders(Copies):
    def test_compressed_shards_need_a_cache_for_random_access(self):
        for kind in ShardDataset, ShardStream:
            with self.assertRaisesRegex(ShardError, "give cache=FOLDER"):
                kind(path("gzip"))
        cache = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, cache)
        first = list(lists(ShardStream, "gzip", cache=cache))
        made = {n: os.stat(os.path.join(cache, n)).st_mtime_ns for n in os.listdir(cache)}
        self.assertEqual(len(made), 3)
        self.assertEqual(list(lists(ShardStream, "gzip", cache=cache)), first)
        self.assertEqual({n: os.stat(os.path.join(cache, n)).st_mtime_ns for n in os.listdir(cache)}, made)

    def test_the_folder_of_a_run_stands_for_its_shards(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        shutil.copytree(path("google"), os.path.join(folder, "shards"))
        os.mkdir(os.path.join(folder, "documents"))
        self.assertEqual(len(ShardDataset(folder)), len(ShardDataset(path("google"))))

    def test_a_manifest_may_be_in_parts(self):
        folder = self.copy("google")
        manifest = os.path.join(folder, "manifest.json")
        with open(manifest, encoding="utf-8") as f:
            whole = json.load(f)
        files, parts = whole.pop("files"), []
        for n, some in enumerate([files[:5], files[5:]]):
            lines = "".join(json.dumps(entry) + "\n" for entry in some)
            name = f"manifest-{n:05d}.jsonl"
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(lines)
            parts.append({"name": name, "files": lines.count("\n"), "bytes": len(lines), "sha256": hashlib.sha256(lines.encode()).hexdigest()})
        with open(manifest, "w", encoding="utf-8") as f:
            json.dump(dict(whole, format_version=2, parts=parts), f)
        self.assertEqual(len(ShardDataset(folder)), len(ShardDataset(path("google"))))
        self.change(os.path.join(folder, "manifest-00001.jsonl"), 30, 1)
        with self.assertRaisesRegex(ShardError, "manifest-00001.jsonl: is not the file of the manifest"):
            ShardDataset(folder)

    def test_files_of_others_are_read_without_a_manifest(self):
        for name in "google", "gzip", "packed", "pieces", "tokens":
            folder = tempfile.mkdtemp()
            self.addCleanup(shutil.rmtree, folder)
            for file in os.listdir(path(name)):
                if ".tfrecord" in file or file == "vocab.txt":
                    shutil.copy(os.path.join(path(name), file), folder)
            more = {"max_seq_length": LENGTH} if name == "tokens" else {}
            got = list(ShardStream(folder, shuffle=False, tensors="list", **more))
            self.assertEqual(got, list(lists(ShardStream, name, shuffle=False)), name)
            one = sorted(f for f in os.listdir(folder) if f.startswith("eval") and ".tfrecord" in f)[0]
            file = os.path.join(folder, one)
            self.assertGreater(len(ShardStream(file, shuffle=False, **more)), 0)
            with (gzip.open if one.endswith(".gz") else open)(file, "rb") as f:
                data = f.read()
            with open(os.path.join(folder, "cut.tfrecord"), "wb") as f:
                f.write(data[:-7])
            with self.assertRaisesRegex(ShardError, "the file ends inside the record"):
                ShardStream(os.path.join(folder, "cut.tfrecord"), shuffle=False, **more)


if __name__ == "__main__":
    warnings.simplefilter("error", ResourceWarning)
    unittest.main()
