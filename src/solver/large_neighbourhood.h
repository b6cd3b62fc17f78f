// The large-neighbourhood step: takes some objects off, and puts each back where it is cheapest, first those that would lose
// most by waiting (regret: the difference between their best and their second best place). So many objects change places at
// once that no sequence of single steps would, where each of these alone is dearer than a temperature allows. Sources: Shaw
// 1998 (large neighbourhoods); Potvin and Rousseau 1993 (regret); Schrimpf et al. 2000 (acceptance by temperature).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/random.h"
#include "solver/metropolis.h"
#include "solver/model.h"

namespace evenkeel::solver {

template <Rebuildable M>
class LargeNeighbourhood {
 public:
  using Object = typename M::Object;
  using Place = typename M::Place;

  /// Takes `objects` off and puts them on some of `places`, in an order and at prices that are blurred by `temperature`. Undone
  /// unless all have a place, the rules hold, and the value grew by no more than `limit`. Both lists have no doubles.
  /// O(objects * places) prices, and O(objects) more for each object. @return by how much the value changed; 0 when undone.
  double Take(M& model, std::span<const Object> objects, std::span<const Place> places, base::Random& random,
              double temperature, double limit);
  /// Prices that were asked by the last call.
  int64_t looked_at() const { return looked_at_; }

 private:
  static constexpr double kImpossible = std::numeric_limits<double>::infinity();
  struct Choice {
    size_t place = 0;
    double price = kImpossible, second = kImpossible;
    /// What waiting may cost; the larger the sooner it is put back.
    double regret() const { return second == kImpossible ? kImpossible : second - price; }
  };

  double Price(const M& model, size_t row, size_t place) {
    ++looked_at_;
    return model.MayPut(objects_[row], places_[place]) ? model.PriceOf(objects_[row], places_[place]) + Noise() : kImpossible;
  }
  double Noise() {
    if (temperature_ <= 0) return 0;
    return temperature_ * Chances()[random_->Next() & (kChances - 1)];
  }
  double& At(size_t row, size_t place) { return prices_[row * places_.size() + place]; }
  void Choose(size_t row) {
    Choice choice;
    for (size_t place = 0; place < places_.size(); ++place) {
      const double price = At(row, place);
      if (price < choice.price) {
        choice.second = choice.price;
        choice.price = price;
        choice.place = place;
      } else if (price < choice.second) {
        choice.second = price;
      }
    }
    choices_[row] = choice;
  }
  bool PutAllBack(M& model, double most);

  base::Random* random_ = nullptr;
  double temperature_ = 0;
  std::span<const Object> objects_;
  std::span<const Place> places_;
  std::vector<Place> before_;
  std::vector<double> prices_;  // row of an object, column of a place
  std::vector<Choice> choices_;
  std::vector<size_t> off_;  // rows
  int64_t looked_at_ = 0;
};

template <Rebuildable M>
double LargeNeighbourhood<M>::Take(M& model, std::span<const Object> objects, std::span<const Place> places,
                                   base::Random& random, double temperature, double limit) {
  random_ = &random;
  temperature_ = temperature;
  objects_ = objects;
  places_ = places;
  looked_at_ = 0;
  const double value = model.Value();
  before_.clear();
  for (const Object object : objects) before_.push_back(model.PlaceOf(object));
  for (const Object object : objects) model.TakeOff(object);
  if (PutAllBack(model, value + limit) && model.Value() - value <= limit) {
    bool hold = true;
    for (size_t row = 0; hold && row < objects.size(); ++row) hold = model.Holds(objects[row], before_[row]);
    if (hold) return model.Value() - value;
  }
  for (size_t row = 0; row < objects.size(); ++row) {
    if (model.PlaceOf(objects[row]) >= 0) model.TakeOff(objects[row]);
  }
  for (size_t row = 0; row < objects.size(); ++row) model.Put(objects[row], before_[row]);
  return 0;
}

// False as soon as an object has no place, or the value is above `most` already.
template <Rebuildable M>
bool LargeNeighbourhood<M>::PutAllBack(M& model, double most) {
  const size_t rows = objects_.size();
  prices_.resize(rows * places_.size());
  choices_.resize(rows);
  off_.resize(rows);
  for (size_t row = 0; row < rows; ++row) {
    off_[row] = row;
    for (size_t place = 0; place < places_.size(); ++place) At(row, place) = Price(model, row, place);
    Choose(row);
  }
  while (!off_.empty()) {
    size_t next = 0;
    for (size_t i = 1; i < off_.size(); ++i) {
      if (choices_[off_[i]].regret() > choices_[off_[next]].regret()) next = i;
    }
    const size_t row = off_[next], place = choices_[row].place;
    if (choices_[row].price == kImpossible) return false;
    // What was put back since may be in its way.
    if (!model.MayPut(objects_[row], places_[place])) {
      At(row, place) = kImpossible;
      Choose(row);
      continue;
    }
    model.Put(objects_[row], places_[place]);
    if (model.Value() > most) return false;
    off_[next] = off_.back();
    off_.pop_back();
    for (const size_t other : off_) {
      const double before = At(other, place), now = At(other, place) = Price(model, other, place);
      const Choice& choice = choices_[other];
      if (choice.place == place || before <= choice.second || now < choice.second) Choose(other);
    }
  }
  return true;
}

}  // namespace evenkeel::solver
