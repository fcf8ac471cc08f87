"""The hook: decides at each step which tensors are saved, and records them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self

from smdebug.core.access_layer import checked_out_dir
from smdebug.core.arrays import to_array
from smdebug.core.collection import (
    NOT_IN_EVALUATIONS,
    SCALAR_COLLECTIONS,
    Collection,
    CollectionKeys,
)
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.current_hook import CurrentHook
from smdebug.core.json_config import hook_arguments
from smdebug.core.modes import ModeKeys
from smdebug.core.recording import HookRecording
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.reductions import sonde_reduction
from smdebug.core.save_config import SaveConfig
from smdebug.core.warnings_once import warn_once
from smdebug.core.worker_identity import number_of_workers, worker_name, worker_rank
from smdebug.exceptions import (
    SMDebugTypeError,
    SMDebugValueError,
)
from sonde.guard import Guard

_EVALUATION_MODES = (ModeKeys.EVAL, ModeKeys.PREDICT)


class BaseHook:
    """Saves tensors at the steps of their collections' configuration."""

    default_collections: ClassVar[tuple[str, ...]] = (CollectionKeys.LOSSES,)
    collection_type: ClassVar[type[Collection]] = Collection

    def __init__(
        self,
        out_dir: str,
        export_tensorboard: bool = False,
        tensorboard_dir: str | None = None,
        dry_run: bool = False,
        reduction_config: ReductionConfig | None = None,
        save_config: SaveConfig | Mapping[Any, Any] | None = None,
        include_regex: str | Sequence[str] | None = None,
        include_collections: Sequence[str] | None = None,
        save_all: bool = False,
        include_workers: str = "one",
    ) -> None:
        self.out_dir = checked_out_dir(out_dir)
        self.dry_run = dry_run
        self.save_all = save_all
        self.include_workers = include_workers
        self.worker = worker_name(worker_rank())
        self.reduction_config = reduction_config or ReductionConfig(save_raw_tensor=True)
        self.save_config = SaveConfig.of_hook(save_config)
        self.collection_manager = self._built_in_collections()
        self.include_collections = self._included(include_collections, include_regex)
        self.mode = ModeKeys.GLOBAL
        self.step = -1
        self.mode_steps = dict.fromkeys(ModeKeys, -1)
        self._recording = HookRecording(self.out_dir)
        self._guard = Guard()  # errors while recording must not stop the training
        self._due: frozenset[str] = frozenset()  # collections to save at the current step
        self._early: list[tuple[str, Any, tuple[str, ...]]] = []  # saved before the first step
        self._is_prepared = False
        self._n_exported = 0
        CurrentHook.replace(self)
        if export_tensorboard or tensorboard_dir:
            warn_once(
                "export_tensorboard and tensorboard_dir have no effect. Use `sonde ui`, or "
                "`sonde export` afterward."
            )

    @classmethod
    def create_from_json_file(cls, json_file_path: str | None = None) -> Self:
        """Create a hook from a JSON configuration file.

        Args:
            json_file_path: By default, the file that SMDEBUG_CONFIG_FILE_PATH names.
        """
        arguments, collections = hook_arguments(json_file_path, cls.default_collections)
        hook = cls(**arguments)
        for collection in collections:
            hook._configure(collection)
        return hook

    def get_collection(self, name: str, create: bool = True) -> Collection:
        """The collection of that name; created if there is none."""
        collection = self.collection_manager.get(name, create=create)
        if collection.save_config is None:
            collection.save_config = SaveConfig.from_dict(self.save_config.to_json_dict())
        return collection

    def get_collections(self) -> dict[str, Collection]:
        """All collections by name."""
        return self.collection_manager.get_collections()

    def add_collection(self, collection: Collection) -> None:
        """Add a collection, in place of another one of that name."""
        if not isinstance(collection, Collection):
            raise SMDebugTypeError(f"Expected a Collection, not {collection!r}")
        self.collection_manager.add(collection)

    def has_default_configuration(self) -> bool:
        """Whether only the losses are saved, as a hook without arguments does."""
        return (
            not self.save_all
            and set(self.include_collections) == set(self.default_collections)
            and self.save_config == SaveConfig()
            and self.reduction_config == ReductionConfig(save_raw_tensor=True)
        )

    def _configure(self, collection: Collection) -> None:
        """Apply the settings of a configuration file to a collection."""
        existing = self.collection_manager.create_collection(collection.name)
        existing.include(collection.include_regex)
        existing.save_config = collection.save_config or existing.save_config
        existing.reduction_config = collection.reduction_config or existing.reduction_config
        existing.save_histogram = collection.save_histogram
        self._include(collection.name)

    def _built_in_collections(self) -> CollectionManager:
        """The collections that exist without configuration."""
        manager = CollectionManager(collection_type=self.collection_type)
        for name, patterns in self._built_in_patterns().items():
            manager.add(self.collection_type(name, include_regex=list(patterns)))
        return manager

    def _built_in_patterns(self) -> dict[str, tuple[str, ...]]:
        """Regular expressions of the built-in collections, by name."""
        return {CollectionKeys.DEFAULT: (), CollectionKeys.ALL: (".*",)}

    def _included(
        self,
        include_collections: Sequence[str] | None,
        include_regex: str | Sequence[str] | None,
    ) -> list[str]:
        names = list(self.default_collections)
        if include_regex:
            self.collection_manager.get(CollectionKeys.DEFAULT).include(include_regex)
            names.append(CollectionKeys.DEFAULT)
        for name in include_collections or ():
            if not isinstance(name, str):
                raise SMDebugTypeError(f"include_collections must contain names, not {name!r}")
            names.append(name)
        if self.save_all:
            names.append(CollectionKeys.ALL)
        return list(dict.fromkeys(names))

    def _include(self, name: str) -> None:
        if name not in self.include_collections:
            self.include_collections.append(name)

    def set_mode(self, mode: ModeKeys) -> None:
        """Set the mode of the steps that begin from now on."""
        if not isinstance(mode, ModeKeys):
            raise SMDebugValueError(f"{mode!r} is not a mode. Use modes.TRAIN, modes.EVAL, …")
        self.mode = mode

    @property
    def mode_step(self) -> int:
        """The number of the current step in its mode."""
        return self.mode_steps[self.mode]

    @property
    def is_saving_worker(self) -> bool:
        """Whether this worker saves tensors."""
        return self.include_workers == "all" or self.worker == worker_name(0)

    def prepare(self) -> None:
        """Begin to record; called when training is about to begin."""
        if self._is_prepared or self.dry_run or not self.is_saving_worker:
            return
        self._is_prepared = True
        for name in self.include_collections:
            self.collection_manager.create_collection(name)
        workers = number_of_workers() if self.include_workers == "all" else 1
        self.collection_manager.set_num_workers(workers)
        CurrentHook.begin(self)
        self._guard.call("begin", self._recording.begin, None)

    def begin_step(self) -> None:
        """Begin a step, and decide which collections are saved."""
        self.prepare()
        self._export_collections()
        self.step += 1
        self.mode_steps[self.mode] += 1
        self.mode_steps[ModeKeys.GLOBAL] = self.step
        self._due = self._due_collections()
        if self._is_prepared:
            self._recording.begin_step(self.step, self.mode, self.mode_step)
            early, self._early = self._early, []
            for name, value, collections in early:
                self._record(name, value, collections)

    def _due_collections(self) -> frozenset[str]:
        names = set(self.include_collections)
        if self.mode in _EVALUATION_MODES:
            names -= NOT_IN_EVALUATIONS
        due = set()
        for name in names:
            collection = self.collection_manager.create_collection(name)
            collection.check_selection()
            config = collection.save_config or self.save_config
            if config.should_save_step(self.mode, self.mode_step):
                due.add(name)
        return frozenset(due)

    @property
    def saves_this_step(self) -> bool:
        """Whether any collection is saved at the current step."""
        return self._is_prepared and bool(self._due)

    def should_save_tensor_or_collection(self, tensor_name: str, collection_name: str) -> bool:
        """Whether a tensor, or a collection, is saved at the current step."""
        if collection_name in self._due or (self._due and self.save_all):
            return True
        return bool(self._collections_of(tensor_name))

    def should_save_dataloader_metrics(self, metrics_name: str) -> bool:
        """Whether data loading is recorded; Sonde always records it."""
        return bool(metrics_name)

    def save_tensor(
        self,
        tensor_name: str,
        tensor_value: Any,
        collections_to_write: str | Iterable[str] = CollectionKeys.DEFAULT,
    ) -> None:
        """Save a tensor of the script with the current step, if its collections are due.

        Args:
            tensor_name: Its name.
            tensor_value: A tensor, an array or a number.
            collections_to_write: One collection, or several.
        """
        names = (
            (collections_to_write,)
            if isinstance(collections_to_write, str)
            else tuple(collections_to_write)
        )
        for name in names:
            self.collection_manager.create_collection(name).add_tensor_name(tensor_name)
            self._include(name)
        self.prepare()
        if self.step < 0:
            self._early.append((tensor_name, to_array(tensor_value), names))
            return
        self._due |= {name for name in names if self._is_due(name)}
        if self._due.intersection(names):
            self._record(tensor_name, tensor_value, names)

    def save_scalar(
        self, name: str, value: Any, sm_metric: bool = False, timestamp: float | None = None
    ) -> None:
        """Save a number with the current step, as the tensor `scalar/NAME`.

        Args:
            name: Its name.
            value: A number, or a tensor with a single element.
            sm_metric: Add it to the collection `sm_metrics`.
            timestamp: Has no effect: Sonde records the current time.
        """
        array = to_array(value)
        if array.size != 1:
            raise SMDebugTypeError(f"save_scalar({name!r}): expected one number, not {array.shape}")
        if not isinstance(name, str):
            raise SMDebugTypeError(f"save_scalar: the name must be a text, not {name!r}")
        collection = CollectionKeys.SM_METRICS if sm_metric else CollectionKeys.DEFAULT
        full_name = f"scalar/{name}"
        self.collection_manager.create_collection(collection).add_tensor_name(full_name)
        self.prepare()
        if self.step < 0:
            self._early.append((full_name, array, (collection,)))
        else:
            self._record(full_name, array, (collection,))

    def save_if_due(self, name: str, value: Any) -> None:
        """Save a tensor of the model, if any collection that it belongs to is due."""
        collections = self._collections_of(name)
        if collections:
            self._record(name, value, collections)

    def _collections_of(self, name: str) -> tuple[str, ...]:
        """The collections of a tensor that are due; it becomes a member of those that match."""
        return tuple(
            collection_name
            for collection_name in sorted(self._due)
            if self._joins(self.collection_manager.get(collection_name), name)
        )

    def _joins(self, collection: Collection, name: str) -> bool:
        if not collection.holds(name):
            return False
        collection.add_tensor_name(name)
        return True

    def _is_due(self, name: str) -> bool:
        config = self.collection_manager.get(name).save_config or self.save_config
        return config.should_save_step(self.mode, self.mode_step)

    def _record(self, name: str, value: Any, collections: tuple[str, ...]) -> None:
        if not self._is_prepared:
            return
        save = partial(
            self._recording.save,
            name,
            value,
            self._every_collection_of(name),
            self._reductions_of(collections),
        )
        self._guard.call("save", save, None)
        if name.startswith("scalar/"):
            number = float(to_array(value).item())
            log = partial(self._recording.log, name.removeprefix("scalar/"), number)
            self._guard.call("log", log, None)

    def _reductions_of(self, collections: tuple[str, ...]) -> list[str] | None:
        """What the collections save of a tensor: reductions, or None for the full value."""
        pairs: set[tuple[str, bool]] = set()
        for name in collections:
            collection = self.collection_manager.get(name)
            config = collection.reduction_config or self.reduction_config
            if config.save_raw_tensor or name in SCALAR_COLLECTIONS:
                return None
            pairs.update(config.pairs)
        return sorted({sonde_reduction(*pair) for pair in pairs})

    def _every_collection_of(self, name: str) -> tuple[str, ...]:
        """All collections of a tensor, saved or not."""
        return tuple(
            collection.name
            for collection in self.get_collections().values()
            if collection.holds(name)
        )

    def _export_collections(self) -> None:
        """Record the collections when a tensor has joined one."""
        members = sum(len(each.tensor_names) for each in self.get_collections().values())
        if self.step >= 0 and self._is_prepared and members != self._n_exported:
            self._n_exported = members
            document = self._collections_document()
            self._guard.call(
                "save collections", partial(self._recording.save_collections, document), None
            )

    def _collections_document(self) -> dict[str, Any]:
        document = self.collection_manager.to_json_dict()
        for params in document["collections"].values():
            params["save_config"] = params["save_config"] or self.save_config.to_json_dict()
            default = self.reduction_config.to_json_dict()
            params["reduction_config"] = params["reduction_config"] or default
            if params["name"] in SCALAR_COLLECTIONS:
                params["reduction_config"] = ReductionConfig(save_raw_tensor=True).to_json_dict()
        return document

    def record_trace_events(
        self,
        timestamp: float,
        training_phase: str = "",
        op_name: str = "",
        phase: str = "X",
        duration: float = 1,
        **kwargs: Any,
    ) -> None:
        """Has no effect: Sonde records events of blocks, with `sonde.phase`."""
        del timestamp, training_phase, phase, duration, kwargs
        warn_once(f"record_trace_events({op_name!r}) has no effect. Use `with sonde.phase(name):`.")

    @property
    def has_unwritten(self) -> bool:
        """Whether anything was saved since the last flush."""
        return self._recording.has_unwritten

    def flush(self) -> None:
        """Write everything saved so far."""
        if self._is_prepared:
            self._export_collections()
            self._guard.call("flush", self._recording.flush, None)

    def finish(self) -> None:
        """Write everything at the end of the process, which also ends the job."""
        if self._is_prepared:
            self._export_collections()
            self._guard.call("finish", self._recording.finish, None)

    def close(self) -> None:
        """Write everything; the job ends if the hook began it."""
        if self._is_prepared:
            self._export_collections()
            self._guard.call("end", self._recording.end, None)
            CurrentHook.ended(self)
