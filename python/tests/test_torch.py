"""Shards in PyTorch: tensors, batches, workers and ranks."""

import collections
import contextlib
import os
import pickle
import unittest
import unittest.mock

import torch
from torch.utils.data import DataLoader, DistributedSampler

from pretext import IGNORED, Collate, Masking, ShardDataset, ShardError, ShardStream

from shards import Copies, options, path, records


def key(batch, i):
    """An example of a batch without its padding."""
    n = int(batch["attention_mask"][i].sum())
    return tuple(batch["input_ids"][i][:n].tolist()), tuple(batch["labels"][i][:n].tolist()) if "labels" in batch else ()


def keys(batches):
    return [key(batch, i) for batch in batches for i in range(len(batch["input_ids"]))]


class Batches(unittest.TestCase):
    def test_tensors_have_the_names_and_types_that_models_take(self):
        names = ["input_ids", "attention_mask", "token_type_ids", "labels"]
        for name, want in ("google", [*names, "next_sentence_label"]), ("mlm", names), ("packed", names[:3] + ["position_ids", "sequence_ids"]), ("tokens", names[:3]), ("pieces", names[:3]):
            data = ShardDataset(path(name), **options(name))
            batch = next(iter(DataLoader(data, batch_size=4, collate_fn=Collate(data.pad_token_id))))
            self.assertEqual(list(batch), want, name)
            for value in batch.values():
                self.assertEqual((value.dtype, len(value)), (torch.int64, 4))

    def test_collate_cuts_to_the_longest_and_pads_the_others(self):
        data = ShardDataset(path("tokens"), **options("tokens"), masking=Masking())
        items = [data[i] for i in range(0, len(data), 9)]
        longest = max(len(item["input_ids"]) for item in items)
        for multiple in 1, 64:
            batch = Collate(7, multiple)(items)
            self.assertEqual(batch["input_ids"].shape[1], -(-longest // multiple) * multiple)
            for row, item in enumerate(items):
                n = len(item["input_ids"])
                for name, fill in ("input_ids", 7), ("attention_mask", 0), ("labels", IGNORED):
                    self.assertTrue(torch.equal(batch[name][row, :n], item[name]))
                    self.assertTrue((batch[name][row, n:] == fill).all())
        short = ShardDataset(path("bins"))
        batch = Collate()([short[0], short[1]])
        self.assertEqual(batch["input_ids"].shape[1], int(max(short[i]["attention_mask"].sum() for i in (0, 1))))

    def test_other_types_are_stacked_alike(self):
        want = Collate()([ShardDataset(path("google"))[i] for i in range(3)])
        for tensors in "numpy", "list":
            data = ShardDataset(path("google"), tensors=tensors)
            got = Collate()([data[i] for i in range(3)])
            for name in want:
                self.assertEqual(torch.as_tensor(got[name]).tolist(), want[name].tolist(), (tensors, name))


class Workers(Copies):
    def test_two_workers_on_two_ranks_read_every_record_once(self):
        for name in "google", "mlm", "packed", "pieces", "tokens":
            want = collections.Counter(keys(DataLoader(ShardDataset(path(name), **options(name)), batch_size=16, collate_fn=Collate())))
            if name == "google":
                self.assertEqual(sum(want.values()), len(records(name, "train")))
            got = collections.Counter()
            for rank in range(2):
                stream = ShardStream(path(name), rank=rank, world=2, **options(name))
                got.update(keys(DataLoader(stream, batch_size=16, num_workers=2, collate_fn=Collate())))
            self.assertEqual(got, want, name)

    def test_batches_are_the_same_for_any_number_of_workers(self):
        stream = ShardStream(path("google"), batch_size=16, rank=1, world=3, masking=Masking())
        want = keys(DataLoader(stream, batch_size=16))
        for workers in 1, 2, 3:
            loader = DataLoader(stream, batch_size=16, num_workers=workers)
            self.assertEqual(keys(loader), want, workers)
            self.assertEqual(len(loader), -(-len(want) // 16))

    def test_a_map_of_ranks_by_a_sampler_reads_every_record_once(self):
        data = ShardDataset(path("google"), "eval")
        got = []
        for rank in range(2):
            sampler = DistributedSampler(data, num_replicas=2, rank=rank)
            got += keys(DataLoader(data, batch_size=8, num_workers=2, sampler=sampler))
        self.assertEqual(collections.Counter(got), collections.Counter(keys(DataLoader(data, batch_size=8))))

    def test_workers_see_the_epoch(self):
        for kind in "fork", "spawn":  # a spawned worker imports PyTorch: seconds
            stream = ShardStream(path("tokens"), masking=Masking(), **options("tokens"))
            loader = DataLoader(stream, batch_size=16, num_workers=2, persistent_workers=True, multiprocessing_context=kind, collate_fn=Collate())
            epochs = []
            for epoch in 0, 1, 0:
                stream.set_epoch(epoch)
                epochs.append(keys(loader))
            del loader  # and its workers
            self.assertEqual(epochs[0], epochs[2], kind)
            self.assertNotEqual(epochs[0], epochs[1], kind)
            inputs = [sorted(k[0] for k in e) for e in epochs]
            self.assertNotEqual(inputs[0], inputs[1], "the masks are the same in both epochs")

    def test_an_error_in_a_worker_keeps_its_place(self):
        folder = self.copy("google")
        file = os.path.join(folder, sorted(n for n in os.listdir(folder) if n.startswith("train") and n.endswith(".tfrecord"))[0])
        self.change(file, 60, 1)
        with self.assertRaisesRegex(ShardError, "record 0 at byte 0: the checksum"):
            list(DataLoader(ShardDataset(folder), batch_size=8, num_workers=2))
        err = pickle.loads(pickle.dumps(ShardError("a", "b", 3, 4)))
        self.assertEqual((str(err), err.record, err.offset), ("a: record 3 at byte 4: b", 3, 4))

    def test_ranks_of_a_process_group_are_found(self):
        group = {"is_initialized": True, "get_rank": 1, "get_world_size": 2}
        with contextlib.ExitStack() as stack:
            for name, value in group.items():
                stack.enter_context(unittest.mock.patch("torch.distributed." + name, return_value=value))
            stream = ShardStream(path("google"))
        self.assertEqual((stream.rank, stream.world, len(stream)), (1, 2, len(records("google", "train")) // 2))


if __name__ == "__main__":
    unittest.main()
