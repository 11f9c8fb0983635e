"""Asking: the order's indices as steps, so far ahead and no further, and errors as the last step."""

import pytest

from penstock.pipeline.queue import Closed, Finished
from penstock.pipeline.worker import Failure
from penstock.torch.asking import Asking, Step


def asking_for(order, *, concurrency=2, begin=lambda step: None):
    asking = Asking(iter(order), begin, concurrency=concurrency)
    asking.ask()
    return asking


def waiting(asking):
    """What was asked for and not taken from the queue yet, as text; errors as themselves."""
    found = []
    while True:
        try:
            _, cargo = asking.queue.get(timeout_seconds=0)
        except (TimeoutError, Finished):
            return found
        found.append(cargo.error if isinstance(cargo, Failure) else str(cargo))


def test_a_batch_is_asked_for_item_by_item_and_then_itself():
    assert waiting(asking_for([[7, 3], [3]])) == [
        "index 7, item 0 of batch 0",
        "index 3, item 1 of batch 0",
        "batch 0",
        "index 3, item 0 of batch 1",
        "batch 1",
    ]


@pytest.mark.parametrize(
    ("sizes", "concurrency", "batches"),
    [
        ([9, 9, 9, 9], 2, 2),  # two, however large
        ([1] * 20, 2, 4),  # twice the concurrency
        ([3] * 20, 2, 2),
        ([0, 0, 0, 5, 5], 2, 4),  # the first ones have no items to count
    ],
)
def test_as_many_batches_are_asked_for_as_may_be_outstanding(sizes, concurrency, batches):
    asking = asking_for([[0] * size for size in sizes], concurrency=concurrency)
    assert len([said for said in waiting(asking) if said.startswith("batch")]) == batches


def test_the_next_batch_is_asked_for_when_one_is_handed_out():
    asking = asking_for([[number] for number in range(9)], concurrency=1)
    waiting(asking)
    assert asking.taken("an item") == "an item"
    assert waiting(asking) == []
    assert asking.taken("a batch") == "a batch"
    assert waiting(asking) == ["index 2, item 0 of batch 2", "batch 2"]


def test_it_knows_what_the_consumer_waits_for():
    asking = asking_for([[5]])
    assert str(asking.next) == "index 5, item 0 of batch 0"
    asking.taken(None)
    assert str(asking.next) == "batch 0"
    asking.taken(None)
    assert asking.next is None


def test_items_begin_when_they_are_asked_for():
    begun = []
    asking_for([["a", "b"], ["c"]], begin=lambda step: begun.append(step.index))
    assert begun == ["a", "b", "c"]


def test_an_error_of_the_order_is_the_last_step():
    def order():
        yield [1]
        raise LookupError("the order broke")

    *steps, error = waiting(asking_for(order()))
    assert steps == ["index 1, item 0 of batch 0", "batch 0"]
    assert isinstance(error, LookupError)


def test_an_order_is_not_asked_again_after_its_error():
    class Order:
        def __iter__(self):
            return self

        def __next__(self):
            raise LookupError("again")

    asking = asking_for(Order())
    asking.ask()
    assert len(waiting(asking)) == 1


def test_asking_once_everything_is_closed_is_harmless():
    asking = asking_for([[number] for number in range(9)])
    asking.queue.close()
    asking.ask()
    with pytest.raises(Closed):
        asking.queue.get()


def test_a_step_knows_since_when_it_is_worked_on_and_notes_what_went_wrong_where():
    step = Step(4, 2, "cat.jpg")
    assert step.began_seconds is None
    with pytest.raises(OSError, match="gone") as raised, step:
        raise OSError("gone")
    assert step.began_seconds is not None
    assert raised.value.__notes__ == ["while fetching index 'cat.jpg', item 2 of batch 4"]
